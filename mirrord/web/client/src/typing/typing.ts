// Markdown that becomes what it says as it is typed, beyond that of TipTap: formulas, links, pictures, callouts, footnotes, tables.
import { Extension, type ExtendedRegExpMatchArray, InputRule } from '@tiptap/core'
import { Fragment, type Node, type ResolvedPos } from '@tiptap/pm/model'
import { type EditorState, NodeSelection, TextSelection, type Transaction } from '@tiptap/pm/state'
import { isSafe } from '../links/address'

export const Typing = Extension.create({
  name: 'mirrordTyping',
  addInputRules: () => [formula, formulaBlock, emptyFormula, link, picture, callout, footnoteText, footnote, table],
})

interface Typed {
  state: EditorState
  range: { from: number; to: number }
  match: ExtendedRegExpMatchArray
}

/** A rule that changes the transaction of the state; false: what was typed stays. */
const rule = (find: RegExp, change: (typed: Typed, tr: Transaction) => boolean) =>
  new InputRule({ find, handler: (typed) => (change(typed, typed.state.tr) ? undefined : null) })

/** The rule for *find*, where group 1 is what stands before and stays, and the rest becomes a node. */
const inline = (find: RegExp, nodeOf: (state: EditorState, match: ExtendedRegExpMatchArray) => Node | null) =>
  rule(find, ({ state, range, match }, tr) => {
    const node = match[0].includes('%leaf%') ? null : nodeOf(state, match) // another node is among the words
    if (!node) return false
    tr.replaceWith(range.from + match[1]!.length, range.to, node)
    return true
  })

const formula = inline(/(^|[^$\\\w])\$([^\s$](?:[^$\n]*[^\s$\\])?)\$$/, ({ schema }, match) =>
  schema.nodes['mathInline']!.create({ latex: match[2] }),
)

const link = inline(/(^|[^!\\])\[([^[\]\n]+)\]\(([^()\s]+)\)$/, ({ schema }, [, , words, href]) =>
  isSafe(href!) ? schema.text(words!, [schema.marks['link']!.create({ href })]) : null,
)

const picture = inline(/(^|[^\\])!\[([^[\]\n]*)\]\(([^()\s]+)\)$/, ({ schema }, [, , alt, src]) =>
  isSafe(src!) ? schema.nodes['image']!.create({ src, alt }) : null,
)

const isParagraph = ($at: ResolvedPos) => $at.parent.type.name === 'paragraph'

const formulaBlock = rule(/^\$\$([^$]+)\$\$$/, ({ state, match }, tr) => replaceParagraph(state, tr, match[1]!.trim()))
const emptyFormula = rule(/^\$\$\s$/, ({ state }, tr) => replaceParagraph(state, tr, ''))

/** A formula in place of the paragraph; the fields beside the text take what is typed next. */
function replaceParagraph({ schema, selection: { $from } }: EditorState, tr: Transaction, latex: string): boolean {
  if (!isParagraph($from)) return false
  tr.replaceWith($from.before(), $from.after(), schema.nodes['mathBlock']!.create({ latex }))
  tr.setSelection(NodeSelection.create(tr.doc, $from.before()))
  if (!latex) setTimeout(() => document.querySelector<HTMLElement>('.mirrord-editor .inspector textarea')?.focus())
  return true
}

const callout = rule(/^\[!([\w-]+)\]([+-]?)\s$/, ({ state, range, match }, tr) => {
  const { $from } = state.selection
  if ($from.depth < 2 || $from.node(-1).type.name !== 'blockquote' || $from.index(-1) > 0) return false
  const attrs = { ...$from.node(-1).attrs, type: match[1]!.toLowerCase(), fold: match[2] || null }
  tr.delete(range.from, range.to)
  tr.setNodeMarkup($from.before(-1), state.schema.nodes['callout'], attrs)
  return true
})

const footnote = rule(/\[\^([^\s[\]]+)\]$/, ({ state, range, match }, tr) => {
  const { nodes } = state.schema
  const label = match[1]!
  tr.replaceWith(range.from, range.to, nodes['footnoteRef']!.create({ label }))
  if (noteOf(tr.doc, label) === null)
    tr.insert(tr.doc.content.size, nodes['footnoteDef']!.create({ label }, nodes['paragraph']!.create()))
  return true
})

/** `[^1]: ` at the beginning of a paragraph: its `[^1]` has become a reference already. */
const footnoteText = rule(/^%leaf%:\s$/, ({ state }, tr) => {
  const { $from } = state.selection
  const first = $from.parent.firstChild
  if (!isParagraph($from) || first?.type.name !== 'footnoteRef' || $from.depth > 1) return false
  const { nodes } = state.schema
  const rest = $from.parent.content.cut(Math.min($from.parentOffset, $from.parent.content.size))
  const label = first.attrs['label'] as string
  const note = nodes['footnoteDef']!.create({ label }, nodes['paragraph']!.create(null, rest))
  const old = noteOf(tr.doc, label)
  if (old !== null && tr.doc.nodeAt(old)!.textContent === '') tr.delete(old, old + tr.doc.nodeAt(old)!.nodeSize)
  const at = tr.mapping.map($from.before())
  tr.replaceWith(at, at + $from.parent.nodeSize, note)
  tr.setSelection(TextSelection.create(tr.doc, at + 2))
  return true
})

/** The position of the text of a footnote; null: there is none. */
function noteOf(doc: Node, label: string): number | null {
  let found: number | null = null
  doc.descendants((node, at) => {
    if (node.type.name === 'footnoteDef' && node.attrs['label'] === label) found = at
    return found === null && !node.isTextblock
  })
  return found
}

const table = rule(/^\|(?:[^|\n]+\|)+\n$/, ({ state, match }, tr) => {
  const { $from } = state.selection
  if (!isParagraph($from) || $from.depth > 1) return false
  const { nodes, text } = state.schema
  const names = match[0].trim().slice(1, -1).split('|').map((name) => name.trim())
  const cell = (type: string, words: string) =>
    nodes[type]!.create(null, nodes['paragraph']!.create(null, words ? text.call(state.schema, words) : Fragment.empty))
  const rows = ['tableHeader', 'tableCell'].map((type) =>
    nodes['tableRow']!.create(null, names.map((name) => cell(type, type === 'tableHeader' ? name : ''))),
  )
  tr.replaceWith($from.before(), $from.after(), nodes['table']!.create(null, rows))
  tr.setSelection(TextSelection.near(tr.doc.resolve($from.before() + rows[0]!.nodeSize + 2)))
  return true
})
