// The schema of a TipTap editor that shows every page of mirrord and returns it without loss.
import { Extension, Mark, Node, mergeAttributes } from '@tiptap/core'
import Code from '@tiptap/extension-code'
import { Details, DetailsContent, DetailsSummary } from '@tiptap/extension-details'
import Heading from '@tiptap/extension-heading'
import Highlight from '@tiptap/extension-highlight'
import Image from '@tiptap/extension-image'
import { TaskItem, TaskList } from '@tiptap/extension-list'
import Mention from '@tiptap/extension-mention'
import Paragraph from '@tiptap/extension-paragraph'
import Subscript from '@tiptap/extension-subscript'
import Superscript from '@tiptap/extension-superscript'
import { TableCell, TableHeader, TableKit } from '@tiptap/extension-table'
import { TextStyleKit } from '@tiptap/extension-text-style'
import StarterKit from '@tiptap/starter-kit'

// An attribute that survives copy and paste: it is JSON in HTML. HTML from elsewhere may have any text there.
const attribute = (name) => ({
  default: null,
  parseHTML: (element) => parsed(element.getAttribute(`data-${name}`)),
  renderHTML: ({ [name]: value }) => (value === null ? {} : { [`data-${name}`]: JSON.stringify(value) }),
})
function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
const attributes = (names) => Object.fromEntries(names.map((name) => [name, attribute(name)]))

// A node of mirrord; without `content` an atom. A node view draws it.
const own = (name, group, names, content) =>
  Node.create({
    name,
    group,
    inline: group === 'inline',
    content,
    atom: content === undefined,
    defining: content !== undefined,
    addAttributes: () => attributes(names),
    parseHTML: () => [{ tag: `[data-mirrord="${name}"]` }],
    renderHTML: ({ HTMLAttributes }) => [
      group === 'inline' ? 'span' : 'div',
      mergeAttributes(HTMLAttributes, { 'data-mirrord': name }),
      ...(content ? [0] : []),
    ],
  })

// Every block and every item has an id; `beyond` holds attributes that are not declared here.
const Attributes = Extension.create({
  name: 'mirrordAttributes',
  addGlobalAttributes: () => [
    { types: IDENTIFIED, attributes: { id: { ...attribute('id'), keepOnSplit: false } } },
    { types: '*', attributes: attributes(['beyond']) },
    { types: ['link'], attributes: attributes(['auto']) },
  ],
})
const IDENTIFIED = [
  ...['paragraph', 'heading', 'bulletList', 'orderedList', 'listItem', 'taskList', 'taskItem', 'codeBlock', 'blockquote'],
  ...['callout', 'details', 'horizontalRule', 'table', 'mathBlock', 'footnoteDef', 'rawBlock'],
]

// Browsers and ProseMirror lay out each column that a cell spans, so these numbers are bounded, as on the server.
const MAX_SPAN = 1000
const MAX_SPANNED_PLACES = 100_000 // rows times columns of a table with merged cells
const MAX_COLUMN_WIDTH = 10_000 // px

const withBoundedSpans = (cell) =>
  cell.extend({
    addAttributes() {
      const own = this.parent()
      const span = (name) => ({ ...own[name], parseHTML: (element) => boundedSpan(element.getAttribute(name)) })
      const colwidth = { ...own.colwidth, parseHTML: (element) => boundedWidths(own.colwidth.parseHTML(element)) }
      return { ...own, colspan: span('colspan'), rowspan: span('rowspan'), colwidth }
    },
  })
const boundedSpan = (text) => Math.min(Math.max(Number.parseInt(text, 10) || 1, 1), MAX_SPAN)
const boundedWidths = (widths) => (areWidths(widths) ? widths : null)

const isSpan = (value) => (value ?? null) === null || (Number.isInteger(value) && value >= 1 && value <= MAX_SPAN)
const areWidths = (value) =>
  (value ?? null) === null || (Array.isArray(value) && value.length <= MAX_SPAN && value.every(isWidth))
const isWidth = (value) => value === null || (value >= 0 && value <= MAX_COLUMN_WIDTH)

function checkNumbers({ type, attrs, content }) {
  if (type === 'tableCell' || type === 'tableHeader') {
    const { colspan, rowspan, colwidth } = attrs ?? {}
    if (!isSpan(colspan) || !isSpan(rowspan) || !areWidths(colwidth)) throw new RangeError('a cell is too large')
  }
  content?.forEach(checkNumbers)
  if (type === 'table') checkPlaces(content ?? [])
}

function checkPlaces(rows) {
  const spans = rows.map(({ content }) => (content ?? []).map(({ attrs }) => [attrs?.colspan ?? 1, attrs?.rowspan ?? 1]))
  const isMerged = spans.flat().some(([columns, lines]) => columns > 1 || lines > 1)
  if (isMerged && widthOf(spans) * rows.length > MAX_SPANNED_PLACES) throw new RangeError('a table is too large')
}

function widthOf(rows) {
  const ends = new Map() // columns of cells that reach into later rows, by the row below them
  let [width, reaching] = [0, 0]
  rows.forEach((row, y) => {
    reaching -= ends.get(y) ?? 0
    for (const [columns, lines] of row) {
      reaching += columns
      ends.set(y + lines, (ends.get(y + lines) ?? 0) + columns)
    }
    width = Math.max(width, reaching)
  })
  return width
}

export const extensions = [
  // A line break in the Markdown of a paragraph is a newline in its text; typing keeps it only with `pre`.
  StarterKit.configure({
    ...{ paragraph: false, heading: false, code: false },
    trailingNode: false, // opening a page does not change it
    link: { autolink: false, openOnClick: false }, // `notes.md` is a file; the editor follows links
  }),
  Paragraph.extend({ whitespace: 'pre' }),
  Heading.extend({ whitespace: 'pre' }),
  Code.extend({ excludes: '' }), // Markdown allows bold code and links of code
  Highlight.configure({ multicolor: true }),
  TextStyleKit.configure({ lineHeight: false }),
  Subscript,
  Superscript,
  TaskList,
  TaskItem.configure({ nested: true }),
  Image.configure({ inline: true }), // images of Markdown are inside paragraphs
  TableKit.configure({ tableCell: false, tableHeader: false }),
  withBoundedSpans(TableCell),
  withBoundedSpans(TableHeader),
  Mention,
  Details.configure({ persist: true }),
  DetailsSummary.extend({ content: 'inline*' }),
  DetailsContent,
  own('callout', 'block', ['type', 'title', 'fold'], 'block+'),
  own('footnoteDef', 'block', ['label'], 'block+'),
  own('footnoteRef', 'inline', ['label']),
  own('mathBlock', 'block', ['latex']),
  own('mathInline', 'inline', ['latex', 'display']),
  own('wikilink', 'inline', ['target', 'heading', 'alias']),
  own('embed', 'inline', ['target', 'heading', 'alias']),
  own('rawBlock', 'block', ['raw']),
  own('rawInline', 'inline', ['raw']),
  own('unknownBlock', 'block', ['json']),
  own('unknownInline', 'inline', ['json']),
  Mark.create({
    name: 'unknownMark',
    excludes: '',
    addAttributes: () => attributes(['json']),
    parseHTML: () => [{ tag: '[data-mirrord="unknownMark"]' }],
    renderHTML: ({ HTMLAttributes }) => ['span', mergeAttributes(HTMLAttributes, { 'data-mirrord': 'unknownMark' }), 0],
  }),
  Attributes,
]

/** `page.content` in the schema of this editor: nodes for unknown content hold what the schema lacks. */
export function hold(content, schema) {
  return { ...content, content: fitting(content, schema).map(({ held }) => held) }
}

/** The same as a node, parsed once. */
export function held(content, schema) {
  return schema.topNodeType.create(content.attrs, fitting(content, schema).map(({ node }) => node))
}

function fitting(content, schema) {
  const blocks = content.content?.length ? content.content : [{ type: 'paragraph' }]
  return blocks.map((block) => fittingBlock(block, schema))
}

function fittingBlock(block, schema) {
  try {
    checkNumbers(block)
    const held = heldNode(block, schema, false)
    const node = schema.nodeFromJSON(held)
    node.check()
    return { held, node }
  } catch {
    const held = { type: 'unknownBlock', attrs: { json: block } } // nodes in a place where the schema does not allow them, or too large
    return { held, node: schema.nodeFromJSON(held) }
  }
}

// Content that the schema knows is not copied: that is nearly all content of nearly every page.
function heldNode(node, schema, inline) {
  const type = schema.nodes[node.type]
  const marks = changed(node.marks, (mark) => heldMark(mark, schema))
  if (!type) {
    const { marks: _, ...json } = node
    return { type: inline ? 'unknownInline' : 'unknownBlock', attrs: { json }, ...(marks && { marks }) }
  }
  const content = changed(node.content, (child) => heldNode(child, schema, type.inlineContent))
  const attrs = heldAttributes(node.attrs, type)
  if (attrs === node.attrs && content === node.content && marks === node.marks) return node
  return { ...node, ...(attrs && { attrs }), ...(content && { content }), ...(marks && { marks }) }
}

function heldMark(mark, schema) {
  const type = schema.marks[mark.type]
  if (!type) return { type: 'unknownMark', attrs: { json: mark } }
  const attrs = heldAttributes(mark.attrs, type)
  return attrs === mark.attrs ? mark : { ...mark, attrs }
}

function heldAttributes(attrs, type) {
  if (!attrs) return attrs
  const known = type.spec.attrs ?? {}
  const beyond = Object.keys(attrs).filter((name) => !(name in known))
  return beyond.length ? { ...attrs, beyond: Object.fromEntries(beyond.map((name) => [name, attrs[name]])) } : attrs
}

/** *list* with *change* applied to every element; the same list if no element changed. */
function changed(list, change) {
  let made = list
  list?.forEach((part, index) => {
    const one = change(part)
    if (one === part) return
    if (made === list) made = [...list]
    made[index] = one
  })
  return made
}

// The inverse: the value for `page.content` from the editor's `getJSON()`.
export function release(node) {
  if (node.type === 'unknownMark') return node.attrs.json
  const marks = node.marks && { marks: node.marks.map(release) }
  if (node.type === 'unknownBlock' || node.type === 'unknownInline') return { ...node.attrs.json, ...marks }
  const { beyond, ...known } = node.attrs ?? {}
  const content = node.content && { content: node.content.map(release) }
  return { ...node, ...(node.attrs && { attrs: { ...known, ...beyond } }), ...content, ...marks }
}
