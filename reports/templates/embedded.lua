-- Pandoc filter of the embedded PDF engine: what pandoc's LaTeX reader leaves raw, or its Typst
-- writer sets badly, becomes native Typst.  Unknown raw TeX is an error, never lost silently.

local IGNORED = {
  maketitle = true, centering = true, footnotesize = true, scriptsize = true, small = true,
  normalsize = true, nopagebreak = true, arraybackslash = true, raggedright = true, noindent = true, allowbreak = true,
  endfirsthead = true, endhead = true, endfoot = true, endlastfoot = true, bottomrule = true,
  toprule = true, midrule = true, smallskip = true, medskip = true, par = true,
}
local TEXT = { textasciigrave = "`", textbar = "|", quad = "\u{2003}", ldots = "…" }

local function typst(s) return pandoc.RawInline("typst", s) end
-- Quotes as they are, and no line breaks of its own: a line that begins with "/" or "-" is a list.
local function typst_of(blocks)
  return (pandoc.write(pandoc.Pandoc(blocks), "typst-smart", { wrap_text = "none" }):gsub("%s+$", ""))
end
local function quoted(s) return '"' .. s:gsub('[\\"]', "\\%0") .. '"' end
-- A label becomes Typst source, so it may hold the characters of our own labels only.
local function checked(id)
  if not id:match("^[%w.:%-]+$") then error("unsupported label for the embedded engine: " .. id) end
  return id
end
local function is_tex(el) return el.format == "latex" or el.format == "tex" end

local function raw(el, wrap)
  if not is_tex(el) then return nil end
  local word = TEXT[el.text:match("^\\(%a+)%s*{?}?$")]
  if word and not wrap then return pandoc.Str(word) end
  local rest = el.text:gsub("\\hskip%s*0pt", "")
  local out = ""
  while rest:find("%S") do
    local name, tail = rest:match("^%s*\\(%a+)%s*(.*)$")
    if not name then error("unsupported LaTeX for the embedded engine: " .. el.text) end
    local argument = tail:match("^%b{}")
    local inner = argument and argument:sub(2, -2) or ""
    if name == "ref" then
      out = out .. "#ref(label(" .. quoted(inner) .. "), supplement: none)"
    elseif name == "pageref" then
      local l = "label(" .. quoted(inner) .. ")"
      out = out .. "#link(" .. l .. ", context counter(page).at(" .. l .. ").first())"
    elseif name == "tableofcontents" then
      out = out .. "#outline(title: [Contents], depth: 1)"
    elseif name == "FloatBarrier" then
      out = out .. "#place.flush()"
    elseif name == "clearpage" or name == "newpage" then
      out = out .. "#pagebreak(weak: true)"
    elseif inner ~= "" then -- text that follows a command without arguments is not one
      error("unsupported LaTeX for the embedded engine: " .. el.text)
    elseif not IGNORED[name] then
      error("unsupported LaTeX for the embedded engine: " .. el.text)
    end
    rest = argument and tail:sub(#argument + 1) or tail
  end
  if out == "" then return {} end
  return wrap and pandoc.RawBlock("typst", out) or typst(out)
end

function RawInline(el)
  if is_tex(el) and el.text:match("^\\label%b{}$") then return nil end -- kept for its statement
  return raw(el, false)
end

function RawBlock(el) return raw(el, true) end

-- Numbers, estimates and intervals, most of a report's formulas, without pandoc's writer.
local function numeric(text)
  local plain = text:gsub("\\times", "\1"):gsub("\\pm", "\2"):gsub("\\,", "\3"):gsub("\\ ", " ")
  if not plain:match("^[-%d.,%[%]() \1\2\3^{}]+$") then return nil end
  if plain:match("^%s*%^") or plain:find("{}", 1, true) then return nil end -- a power without its base
  plain = plain:gsub("\1", " times "):gsub("\2", " plus.minus "):gsub("\3", " thin ")
  -- Typst displays a formula with blanks at its ends, as a lone sign would have.
  plain = plain:gsub(" +", " "):gsub("^ ", ""):gsub(" $", "")
  return "$" .. plain:gsub("{", "("):gsub("}", ")") .. "$"
end

-- The bars of an absolute value stand close to what they hold.  Typst would space each like a
-- relation.  Bars are paired within the brackets around them.  One that is alone is a condition.
local function close_bars(source)
  local groups, kind, i = { {} }, {}, 1
  local function leave()
    local bars = table.remove(groups)
    for k, place in ipairs(#bars % 2 == 0 and bars or {}) do
      kind[place] = k % 2 == 1 and "opening" or "closing"
    end
  end
  while i <= #source do
    local mark, next_ = source:sub(i, i), source:sub(i + 1, i + 1)
    local bracket = mark == "\\" and next_ or mark
    if mark == '"' then
      i = source:find('"', i + 1, true) or #source
    elseif mark == "\\" and next_ == "|" then
      table.insert(groups[#groups], i)
    elseif bracket == "(" then
      groups[#groups + 1] = {}
    elseif bracket == ")" and #groups > 1 then
      leave()
    end
    i = i + (mark == "\\" and 2 or 1)
  end
  while #groups > 0 do leave() end
  return (source:gsub("()\\|", function(place)
    return kind[place] and 'class("' .. kind[place] .. '", bar.v)' or nil
  end))
end

-- Fences that grow with their content, as native Typst delimiters instead of relations.
local function formula(el)
  el.text = el.text
    :gsub("\\left%s*\\lVert", "\\lVert "):gsub("\\right%s*\\rVert", "\\rVert ")
    :gsub("\\left%s*\\lvert", "\\lvert "):gsub("\\right%s*\\rvert", "\\rvert ")
    :gsub("\\begin{equation%*?}", ""):gsub("\\end{equation%*?}", "")
    :gsub("\\surd%f[%A]", "\\text{√}") -- pandoc would take what follows for the root's argument
  local inner = el.text:match("^%s*\\displaystyle%s+(.*)$")
  el.text = inner or el.text
  local source = typst_of({ pandoc.Plain({ el }) })
  source = source:gsub('"(%a+)" \\%(', 'op("%1") \\(') -- an operator, not a word before a parenthesis
  source = source:gsub('mat%(delim: "||"', 'mat(delim: "|"') -- a determinant: pandoc writes both fences
  source = source:gsub("(%a)%.circle", "%1.o") -- Typst renamed times.circle and its kin
  source = close_bars(source)
  if inner then source = source:gsub("^%$(.*)%$$", "$display(%1)$") end
  return source
end

local known = {} -- formulas repeat: symbols, assumptions

function Math(el)
  local key = tostring(el.mathtype) .. el.text
  if not known[key] then
    local inline = tostring(el.mathtype):match("InlineMath")
    known[key] = inline and numeric(el.text) or formula(el)
  end
  return typst(known[key])
end

-- A command breaks at its blanks only, so that it runs when it is copied.
function Code(el)
  if FORMAT:match("^typst") and el.text:find(" ", 1, true) then
    return typst("#command(" .. quoted(el.text) .. ")")
  end
end

-- Commands that are a paragraph of their own, and long lists of names, are not spaced out to its width.
function Para(el)
  local commands, names, others = 0, 0, 0
  for i, each in ipairs(el.content) do
    if each.t == "RawInline" and each.text:match("^#command") then
      commands = commands + 1
    elseif each.t == "Code" and i > 1 and el.content[i - 1].t == "Space" then
      names = names + 1
    elseif each.t ~= "LineBreak" and each.t ~= "SoftBreak" then
      others = others + 1
    end
  end
  local many = names >= 8 and FORMAT:match("^typst")
  if not many and (commands == 0 or names + others > 0) then return nil end
  return pandoc.RawBlock("typst", "#[#set par(justify: false)\n" .. typst_of({ el }) .. "\n]")
end

-- \textcolor{name}: the names are variables of the Typst template.
function Span(el)
  local colour = el.attributes.style and el.attributes.style:match("^color:%s*([%a][%w-]*)")
  if colour then
    local inline = typst_of({ pandoc.Plain(el.content) })
    return typst("#text(fill: " .. colour .. ", hyphenate: false)[" .. inline:gsub("%s+$", "") .. "]")
  end
end

-- What a row holds, formulas included: they are raw Typst by the time that tables are met.
local function content(row)
  local blocks = pandoc.Blocks(row.cells:map(function(c) return pandoc.Div(c.contents) end))
  return pandoc.utils.stringify(blocks:walk({
    RawInline = function(r) return pandoc.Str(r.text) end,
  }))
end

-- At the start of a cell, a caption or a bold text pandoc leaves the marks of Typst's lists, terms
-- and headings as they are: "/ oracle" would be half a term, "- x" a list.
local function as_text(inlines)
  for i, each in ipairs(inlines or {}) do
    if each.t == "Str" then
      local text = each.text
      if text:match("^[/+-]$") or text:match("^=+$") then inlines[i] = typst("\\" .. text) end
      if text:match("^%d+%.$") then inlines[i] = typst((text:gsub("%.", "\\."))) end
    end
    -- white space before a mark does not hide it
    local blank = each.t == "RawInline" and not each.text:match("%S")
    if not (blank or each.t == "Space" or each.t == "SoftBreak") then break end
  end
end

local function cells_as_text(row)
  for _, cell in ipairs(row.cells) do as_text(cell.contents[1] and cell.contents[1].content) end
end

local function caption_as_text(el)
  for _, block in ipairs(el.caption.long) do as_text(block.content) end
end

function Strong(el)
  as_text(el.content)
  return el
end

function Emph(el)
  as_text(el.content)
  return el
end

-- longtable: the head that is repeated on later pages arrives as a first row of the body (Typst
-- repeats heads by itself); the rules of page ends arrive as rows without content.
function Table(el)
  for _, row in ipairs(el.head.rows) do cells_as_text(row) end
  for _, body in ipairs(el.bodies) do
    for _, row in ipairs(body.body) do cells_as_text(row) end
  end
  caption_as_text(el)
  local head = el.head.rows[1] and content(el.head.rows[1])
  for _, body in ipairs(el.bodies) do
    body.body = pandoc.List(body.body):filter(function(row)
      local text = content(row)
      return text:match("%S") ~= nil and text ~= head
    end)
  end
  return el
end

-- pandoc numbers a theorem-like environment in bold: Typst numbers statements, strips have none.
local function unnumbered(body)
  local first = body.content[1]
  while first.content[1] and first.content[1].t ~= "Strong" do first.content:remove(1) end
  first.content:remove(1)
  if first.content[1] and first.content[1].text == "." then first.content:remove(1) end
  while first.content[1] and first.content[1].t:match("Space$") do first.content:remove(1) end
end

-- Theorem-like statements and labelled tables become Typst figures, so that references are native.
function Div(el)
  local strip = el.classes[1] and el.classes[1]:match("^strip(%l+)$")
  if strip then
    unnumbered(el)
    return pandoc.RawBlock("typst", "#strip(" .. strip .. ")[" .. typst_of(el.content) .. "]\n")
  end
  if el.classes:includes("statement") then
    local id
    local body = el:walk({
      RawInline = function(r)
        local l = r.text:match("^\\label{(.-)}$")
        if l then id = l; return {} end
      end,
    })
    unnumbered(body)
    if not id then error("a statement without a label") end
    return pandoc.RawBlock("typst",
      '#figure(kind: "statement", supplement: [Statement], [' .. typst_of(body.content) .. "]) <" .. checked(id) .. ">\n")
  end
  if el.identifier ~= "" and #el.content == 1 and el.content[1].t == "Table" then
    local figure = typst_of(el.content) .. " <" .. checked(el.identifier) .. ">\n"
    local rows = 0
    for _, body in ipairs(el.content[1].bodies) do rows = rows + #body.body end
    if rows <= 8 then -- as in LaTeX: `reports.tables.SHORT`
      figure = "#[\n#show figure: set block(breakable: false)\n" .. figure .. "]\n"
    end
    if el.identifier:match("^tab:dense:") then
      figure = "#[\n#show table: set text(size: 7pt)\n#set table(inset: (x: 2.8pt, y: 2pt))\n" .. figure .. "]\n"
    end
    return pandoc.RawBlock("typst", figure)
  end
end

-- A finding's figure stands at the top or the bottom of a page, as LaTeX places it: text fills the
-- page before a figure that is too large for the rest of it.  The figures of another section stay
-- where they are written: at the top or the bottom of the page they would stand in another section.
function Figure(el)
  caption_as_text(el)
  local floats = el.identifier:match("^fig:finding%-")
  if not (floats or el.identifier == "fig:picture") then return el end
  local place = el.identifier == "fig:picture" and "bottom" or "auto" -- not above the title
  local figure, placed = typst_of({ el }):gsub("^#figure%(", "#figure(placement: " .. place .. ", ")
  if placed ~= 1 then error("a figure that is not one: " .. el.identifier) end
  return pandoc.RawBlock("typst", figure .. "\n")
end

-- Terms with a one-paragraph description start on the line of their description.
function DefinitionList(el)
  local items = {}
  for _, item in ipairs(el.content) do
    local term, definitions = item[1], item[2]
    local body = {}
    for _, blocks in ipairs(definitions) do body[#body + 1] = typst_of(blocks) end
    items[#items + 1] = "  terms.item([" .. typst_of({ pandoc.Plain(term) }) .. "], ["
      .. table.concat(body, "\n\n") .. "]),"
  end
  return pandoc.RawBlock("typst", "#terms(\n" .. table.concat(items, "\n") .. "\n)\n")
end

-- A paragraph that heads a table or a list stays with it.
function Blocks(blocks)
  local out = pandoc.Blocks({})
  for i, block in ipairs(blocks) do
    local after = blocks[i + 1] and blocks[i + 1].t
    local before = blocks[i - 1] and blocks[i - 1].t
    local floats = after == "RawBlock" and blocks[i + 1].text:match("^#figure%(placement")
    if block.t == "Para" and ((before == "Header" and after ~= "Para" and not floats) or after == "BulletList"
      and block.content[1].t == "Strong") then
      out:insert(pandoc.RawBlock("typst", "#block(sticky: true)["))
      out:insert(block)
      out:insert(pandoc.RawBlock("typst", "]"))
    else
      out:insert(block)
    end
  end
  return out
end
