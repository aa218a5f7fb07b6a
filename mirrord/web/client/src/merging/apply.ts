// Applies a merged document to the open one: unchanged blocks are not touched, nor a cursor in them.
import type { Node, Schema } from '@tiptap/pm/model'
import { TextSelection, type Transaction } from '@tiptap/pm/state'
import { blocksOf } from '../document/document'
import type { Piece } from './merge'
import { rising } from './order'

/** Changes the document of *transaction* to *pieces*, which were merged with its blocks as mine. */
export function apply(transaction: Transaction, pieces: Piece[]): void {
  const { doc } = transaction
  const { schema } = doc.type
  const before = starts(doc)
  const place = cursor(transaction, before)
  const known = pieces.flatMap((piece, index) => (piece.mine === null ? [] : [index]))
  const stable = rising(known.map((index) => pieces[index]!.mine!)).map((at) => known[at]!)
  const nodes = nodesOf(doc, pieces, schema)
  for (let at = stable.length; at >= 0; at--) {
    const [left, right] = [stable[at - 1], stable[at]]
    const from = left === undefined ? 0 : before[pieces[left]!.mine! + 1]!
    const to = right === undefined ? doc.content.size : before[pieces[right]!.mine!]!
    const between = nodes.slice(left === undefined ? 0 : left + 1, right ?? nodes.length)
    if (from !== to || between.length) transaction.replaceWith(from, to, between)
    if (left !== undefined) change(transaction, before[pieces[left]!.mine!]!, nodes[left]!)
  }
  if (place) restore(transaction, place, pieces, stable)
}

function nodesOf(doc: Node, pieces: Piece[], schema: Schema): Node[] {
  const blocks = blocksOf(doc)
  if (!pieces.length) return [schema.nodes['paragraph']!.create()]
  return pieces.map(({ block, mine }) =>
    mine !== null && blocks[mine] === block ? doc.child(mine) : schema.nodeFromJSON(block),
  )
}

/** The position of each child of *doc*, and the end of the last. */
function starts(doc: Node): number[] {
  const found = [0]
  for (const child of doc.children) found.push(found.at(-1)! + child.nodeSize)
  return found
}

function change(transaction: Transaction, at: number, wanted: Node): void {
  const now = transaction.doc.nodeAt(at)!
  if (now.eq(wanted)) return
  if (now.type !== wanted.type || now.isLeaf) {
    transaction.replaceWith(at, at + now.nodeSize, wanted)
    return
  }
  if (isAlike(now, wanted)) changeChildren(transaction, at, now, wanted)
  else changeSpan(transaction, at, now, wanted)
  if (!transaction.doc.nodeAt(at)!.hasMarkup(wanted.type, wanted.attrs, wanted.marks))
    transaction.setNodeMarkup(at, null, wanted.attrs, wanted.marks)
  const made = transaction.doc.nodeAt(at)!
  if (!made.eq(wanted)) transaction.replaceWith(at, at + made.nodeSize, wanted)
}

const isAlike = (one: Node, other: Node) =>
  !one.inlineContent &&
  one.childCount === other.childCount &&
  one.children.every((child, index) => child.type === other.child(index).type)

function changeChildren(transaction: Transaction, at: number, now: Node, wanted: Node): void {
  const inner = starts(now)
  for (let index = now.childCount - 1; index >= 0; index--)
    change(transaction, at + 1 + inner[index]!, wanted.child(index))
}

function changeSpan(transaction: Transaction, at: number, now: Node, wanted: Node): void {
  const start = now.content.findDiffStart(wanted.content)
  if (start === null) return
  const end = now.content.findDiffEnd(wanted.content)!
  const overlap = Math.max(0, start - Math.min(end.a, end.b))
  transaction.replace(at + 1 + start, at + 1 + end.a + overlap, wanted.slice(start, end.b + overlap))
}

interface Place {
  index: number
  anchor: number
  head: number
}

/** The block of the selection, and the place in it; null: the selection is in several blocks. */
function cursor({ selection }: Transaction, before: number[]): Place | null {
  if (!(selection instanceof TextSelection)) return null
  const index = selection.$from.index(0)
  if (index !== selection.$to.index(0)) return null
  return { index, anchor: selection.anchor - before[index]!, head: selection.head - before[index]! }
}

/** Restores the selection in a block that moved. */
function restore(transaction: Transaction, place: Place, pieces: Piece[], stable: number[]): void {
  const now = pieces.findIndex((piece) => piece.mine === place.index)
  if (now < 0 || stable.includes(now)) return
  const at = starts(transaction.doc)[now]!
  const size = transaction.doc.child(now).nodeSize
  const within = (offset: number) => transaction.doc.resolve(at + Math.min(offset, size - 1))
  transaction.setSelection(TextSelection.between(within(place.anchor), within(place.head)))
}
