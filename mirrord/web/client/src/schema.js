// What a TipTap editor declares to show every page of mirrord and to give it back whole.
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
import { TableKit } from '@tiptap/extension-table'
import { TextStyleKit } from '@tiptap/extension-text-style'
import StarterKit from '@tiptap/starter-kit'

// An attribute that survives copy and paste: HTML holds it as JSON. In HTML from elsewhere it may be anything.
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

// A node of mirrord's own; without `content` an atom. How it looks is for a node view to say.
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

// Every block and every item has an id; `beyond` holds attributes that nothing here declares.
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

export const extensions = [
  // A line break in the Markdown of a paragraph is a newline in its text: only with `pre` does typing keep it.
  StarterKit.configure({
    ...{ paragraph: false, heading: false, code: false },
    trailingNode: false, // a page that is opened is not changed
    link: { autolink: false, openOnClick: false }, // `notes.md` is a file; following is the editor's business
  }),
  Paragraph.extend({ whitespace: 'pre' }),
  Heading.extend({ whitespace: 'pre' }),
  Code.extend({ excludes: '' }), // Markdown has bold code and code that is a link
  Highlight.configure({ multicolor: true }),
  TextStyleKit.configure({ lineHeight: false }),
  Subscript,
  Superscript,
  TaskList,
  TaskItem.configure({ nested: true }),
  Image.configure({ inline: true }), // Markdown's images stand inside paragraphs
  TableKit,
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

/** `page.content` as this editor's schema takes it: what the schema lacks is held in the nodes made for that. */
export function hold(content, schema) {
  return { ...content, content: fitting(content, schema).map(({ held }) => held) }
}

/** The same as a node, read once. */
export function held(content, schema) {
  return schema.topNodeType.create(content.attrs, fitting(content, schema).map(({ node }) => node))
}

function fitting(content, schema) {
  const blocks = content.content?.length ? content.content : [{ type: 'paragraph' }]
  return blocks.map((block) => fittingBlock(block, schema))
}

function fittingBlock(block, schema) {
  try {
    const held = heldNode(block, schema, false)
    const node = schema.nodeFromJSON(held)
    node.check()
    return { held, node }
  } catch {
    const held = { type: 'unknownBlock', attrs: { json: block } } // known parts where the schema has no place for them
    return { held, node: schema.nodeFromJSON(held) }
  }
}

// What the schema has whole is not copied: that is nearly all of nearly every page.
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

/** *list* with every part as *change* makes it; the same list if none is another. */
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

// The other way: what the editor's `getJSON()` becomes before it is written to `page.content`.
export function release(node) {
  if (node.type === 'unknownMark') return node.attrs.json
  const marks = node.marks && { marks: node.marks.map(release) }
  if (node.type === 'unknownBlock' || node.type === 'unknownInline') return { ...node.attrs.json, ...marks }
  const { beyond, ...known } = node.attrs ?? {}
  const content = node.content && { content: node.content.map(release) }
  return { ...node, ...(node.attrs && { attrs: { ...known, ...beyond } }), ...content, ...marks }
}
