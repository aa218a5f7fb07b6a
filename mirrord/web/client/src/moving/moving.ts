// PURE: moves of blocks; each move is one transaction, so that one undo reverts it.
import { Fragment, type Node, type ResolvedPos } from '@tiptap/pm/model'
import { type EditorState, TextSelection, type Transaction } from '@tiptap/pm/state'

/** Neighbouring blocks of one holder: from before the first to behind the last. */
export interface Span {
  from: number
  to: number
}

/** Marks a transaction that moved blocks; its value is their new Span. */
export const MOVED = 'mirrordMoved'

// Nodes that hold any number of blocks or items, in any order.
const HOLDERS = new Set([
  ...['doc', 'bulletList', 'orderedList', 'taskList', 'blockquote', 'callout', 'detailsContent', 'footnoteDef'],
])
const holds = (node: Node) => HOLDERS.has(node.type.name)

/** The innermost movable block around a position, or around two; null: there is none. */
export function spanAround($from: ResolvedPos, $to: ResolvedPos = $from): Span | null {
  const range = $from.blockRange($to, holds)
  return range && { from: range.start, to: range.end }
}

/** The blocks that a move of the selection moves: the holder, if all of its content is selected. */
export function spanOf({ doc, selection }: EditorState): Span | null {
  const span = spanAround(selection.$from, selection.$to)
  if (!span) return null
  let $from = doc.resolve(span.from)
  while ($from.depth && isAll($from, span)) {
    const depth = $from.depth - Number(!holds($from.node(-1)))
    ;[span.from, span.to] = [$from.before(depth), $from.after(depth)]
    $from = doc.resolve(span.from)
  }
  return span
}

const isAll = ($from: ResolvedPos, { from, to }: Span) => from === $from.start() && to === $from.end()

/** Moves the selected blocks past their neighbour; null: there is no neighbour in this direction. */
export function step(state: EditorState, way: 'up' | 'down'): Transaction | null {
  const span = spanOf(state)
  if (!span) return null
  const { nodeBefore } = state.doc.resolve(span.from)
  const { nodeAfter } = state.doc.resolve(span.to)
  const { tr } = state
  // Moves the neighbour, so that the cursor stays in place.
  if (way === 'up') {
    if (!nodeBefore) return null
    const size = nodeBefore.nodeSize
    tr.delete(span.from - size, span.from).insert(span.to - size, nodeBefore)
    return tr.setMeta(MOVED, { from: span.from - size, to: span.to - size })
  }
  if (!nodeAfter) return null
  const size = nodeAfter.nodeSize
  tr.delete(span.to, span.to + size).insert(span.from, nodeAfter)
  return tr.setMeta(MOVED, { from: span.from + size, to: span.to + size })
}

/** Whether blocks fit at *to*: as they are, or, for items outside of a list, as a new list. */
export function fit(doc: Node, span: Span, to: number): 'asTheyAre' | 'asList' | null {
  if (to > span.from && to < span.to) return null
  const [{ parent }, $to] = [doc.resolve(span.from), doc.resolve(to)]
  const index = $to.index()
  if (!holds($to.parent)) return null
  if ($to.parent.canReplace(index, index, doc.slice(span.from, span.to).content)) return 'asTheyAre'
  return parent.type.name.endsWith('List') && $to.parent.canReplaceWith(index, index, parent.type) ? 'asList' : null
}

/** Moves blocks to *to*; null: they are there, or do not fit. A holder that would be empty is removed. */
export function put(state: EditorState, span: Span, to: number): Transaction | null {
  const { doc, selection, tr } = state
  const how = fit(doc, span, to)
  if (!how || to === span.from || to === span.to) return null
  const { parent } = doc.resolve(span.from)
  const { content } = doc.slice(span.from, span.to)
  removed(tr, span)
  const at = tr.mapping.map(to)
  tr.insert(at, how === 'asTheyAre' ? content : Fragment.from(parent.type.create({ ...parent.attrs, id: null }, content)))
  const first = at + Number(how === 'asList')
  if (selection instanceof TextSelection && selection.from > span.from && selection.to < span.to) {
    const now = (position: number) => tr.doc.resolve(position - span.from + first)
    tr.setSelection(TextSelection.between(now(selection.anchor), now(selection.head)))
  }
  return tr.setMeta(MOVED, { from: first, to: first + content.size })
}

function removed(tr: Transaction, span: Span): void {
  let { from, to } = span
  let $from = tr.doc.resolve(from)
  while ($from.depth && holds($from.parent) && isAll($from, { from, to })) {
    ;[from, to] = [$from.before(), $from.after()]
    $from = tr.doc.resolve(from)
  }
  const isSpare = $from.parent.canReplace($from.index(), tr.doc.resolve(to).index())
  if (isSpare) tr.delete(from, to)
  else tr.replaceWith(from + 1, to - 1, tr.doc.type.schema.nodes['paragraph']!.create()) // a toggle must not be empty
}
