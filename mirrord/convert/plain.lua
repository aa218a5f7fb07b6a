-- Reduce a document to Markdown without HTML: drop attributes, anchors and boxes, keep their content.

local lists = {BulletList = true, OrderedList = true}

local function content(element) return element.content end

local function bare(element)
  element.attr = pandoc.Attr()
  return element
end

-- Word processors end a list at a change of numbering; readers see one list, so join both parts.
local function joined(blocks)
  local result = pandoc.Blocks({})
  for _, block in ipairs(blocks) do
    local last = result[#result]
    if last and lists[block.t] and last.t == block.t then
      last.content:extend(block.content)
    else
      result:insert(block)
    end
  end
  return result
end

-- Some programs indent a list by another list around it; drop the outer one.
local function unwrapped(list)
  local inner = #list.content == 1 and #list.content[1] == 1 and list.content[1][1]
  if inner and lists[inner.t] then return inner end
end

local function with_header(table)
  if #table.head.rows == 0 and #table.bodies > 0 and #table.bodies[1].body > 0 then
    table.head.rows = {table.bodies[1].body[1]}
    table.bodies[1].body:remove(1)
  end
  return bare(table)
end

local function figure(element)
  local caption_text = pandoc.utils.stringify(element.caption.long)
  local image_text = ""
  element:walk({Image = function(image) image_text = image_text .. pandoc.utils.stringify(image.caption) end})
  local result = pandoc.Blocks({})
  for _, block in ipairs(element.content) do
    result:insert(block.t == "Plain" and pandoc.Para(block.content) or block)
  end
  if caption_text ~= "" and caption_text ~= image_text then result:extend(element.caption.long) end
  return result
end

local function titled(document)
  local title = document.meta.title and pandoc.utils.stringify(document.meta.title) or ""
  local has_title = title == ""
  for number, block in ipairs(document.blocks) do
    if number > 3 then break end
    has_title = has_title or (block.t == "Header" and pandoc.utils.stringify(block) == title)
  end
  if not has_title then document.blocks:insert(1, pandoc.Header(1, pandoc.Inlines(title))) end
  return document
end

return {
  {
    Span = content, Underline = content, SmallCaps = content, Div = content,
    Header = bare, Code = bare, Table = with_header, Figure = figure,
    RawBlock = function() return {} end,
    RawInline = function() return {} end,
    Link = function(link)
      if link.target:sub(1, 1) == "#" then return link.content end
      return bare(link)
    end,
    Image = function(image)
      image.title = ""
      return bare(image)
    end,
    CodeBlock = function(block)
      local language = block.classes[#block.classes]
      block.attr = pandoc.Attr("", language and {language} or {})
      return block
    end,
  },
  {BulletList = unwrapped, OrderedList = unwrapped},
  {Blocks = joined},
  {Pandoc = titled},
}
