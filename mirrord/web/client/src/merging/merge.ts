// PURE: merges three versions of a document. Blocks are matched by id, else by content.
import { type Block, idOf, meaning } from '../document/document'
import { rising } from './order'
import { cellByCell } from './tables'
import { together } from './words'

/** A block of the merged document. mine: its index in mine, null: new to it. theirs: the other side of a clash. */
export interface Piece {
  block: Block
  mine: number | null
  theirs?: Block
}

// Nodes that hold blocks only, in any number.
const CONTAINERS = new Set([
  ...['bulletList', 'orderedList', 'taskList', 'listItem', 'taskItem', 'blockquote', 'callout', 'footnoteDef'],
  ...['tableCell', 'tableHeader'],
])

/**
 * Merges *theirs* into *mine*; *base* is their common ancestor.
 *
 * An edit wins over a deletion. If the sides changed different words, cells or blocks of a block, the result has both
 * changes; otherwise it has mine, with theirs beside it. Unchanged blocks are the objects of *mine*.
 */
export function merge(base: Block[], mine: Block[], theirs: Block[]): Piece[] {
  const { ofMine, ofTheirs } = matched(base, mine, theirs)
  const pieces = new Map<number, Piece>()
  for (const key of new Set([...ofMine, ...ofTheirs])) {
    const index = ofMine.indexOf(key)
    const piece = fate(base[key], mine[index], theirs[ofTheirs.indexOf(key)])
    if (piece) pieces.set(key, { ...piece, mine: index < 0 ? null : index })
  }
  const order = ordered(base.length, ofMine, ofTheirs).filter((key) => pieces.has(key))
  return order.map((key) => pieces.get(key)!)
}

/** A number for each block of both sides: its index in the base, or a higher number. Equal numbers are one block. */
function matched(base: Block[], mine: Block[], theirs: Block[]): { ofMine: number[]; ofTheirs: number[] } {
  let next = base.length
  const ofMine = pairs(base, mine).map((key) => key ?? next++)
  const added = mine.filter((_, index) => ofMine[index]! >= base.length)
  const addedKeys = ofMine.filter((key) => key >= base.length)
  const ofTheirs: (number | null)[] = pairs(base, theirs)
  const rest = theirs.filter((_, index) => ofTheirs[index] === null)
  const both = pairs(added, rest).map((index) => (index === null ? next++ : addedKeys[index]!))
  return { ofMine, ofTheirs: ofTheirs.map((key) => key ?? both.shift()!) }
}

/** For each block of *others* the index of its match in *ones*, or null: by id, then by content, then by place. */
function pairs(ones: Block[], others: Block[]): (number | null)[] {
  const free = new Set(ones.keys())
  const found = byName(ones, others, meaning, free, byName(ones, others, idOf, free, []))
  others.forEach((block, at) => {
    const next = at === 0 ? 0 : (found[at - 1] ?? ones.length) + 1
    if (found[at] !== null || !free.has(next) || idOf(block) !== null || idOf(ones[next]!) !== null) return
    if (ones[next]!.type !== block.type) return
    free.delete(next)
    found[at] = next
  })
  return found
}

function byName(
  ones: Block[],
  others: Block[],
  name: (block: Block) => string | null,
  free: Set<number>,
  found: (number | null)[],
): (number | null)[] {
  const named = new Map<string, number[]>()
  for (const index of free) {
    const own = name(ones[index]!)
    if (own !== null) named.set(own, [...(named.get(own) ?? []), index])
  }
  return others.map((block, at) => {
    if (found[at] != null) return found[at]
    const index = named.get(name(block) ?? '')?.shift()
    if (index !== undefined) free.delete(index)
    return index ?? null
  })
}

function fate(base?: Block, mine?: Block, theirs?: Block): { block: Block; theirs?: Block } | null {
  if (!mine) return theirs && !(base && same(base, theirs)) ? { block: theirs } : null
  if (!theirs) return base && same(base, mine) ? null : { block: mine }
  if (same(mine, theirs)) return { block: idsAgree(mine, theirs) ? mine : theirs }
  if (base && same(base, mine)) return { block: theirs }
  if (base && same(base, theirs)) return { block: named(mine, theirs) }
  const both = base && (inside(base, mine, theirs) ?? together(base, mine, theirs))
  return both ? { block: both } : { block: named(mine, theirs), theirs }
}

const same = (one: Block, other: Block) => meaning(one) === meaning(other)
const idsAgree = (one: Block, other: Block) => JSON.stringify(one) === JSON.stringify(other)

function named(mine: Block, theirs: Block): Block {
  const id = idOf(theirs)
  return id === null || idOf(mine) === id ? mine : { ...mine, attrs: { ...mine.attrs, id } }
}

/** The block with both changes, if they concern different parts of it. */
function inside(base: Block, mine: Block, theirs: Block): Block | null {
  const isOne = base.type === mine.type && mine.type === theirs.type
  const attrs = isOne && attributes(base.attrs ?? {}, mine.attrs ?? {}, theirs.attrs ?? {})
  const content = attrs && contentOf(base, mine, theirs)
  return content ? { ...mine, attrs, content } : null
}

function contentOf(base: Block, mine: Block, theirs: Block): Block[] | null {
  if (mine.type === 'table') return cellByCell(base, mine, theirs, settled)
  if (!CONTAINERS.has(mine.type)) return null
  const pieces = merge(base.content ?? [], mine.content ?? [], theirs.content ?? [])
  if (!pieces.length || pieces.some((piece) => piece.theirs)) return null
  return pieces.map((piece) => piece.block)
}

function settled(base: Block, mine: Block, theirs: Block): Block | null {
  const found = fate(base, mine, theirs)
  return found && !found.theirs ? found.block : null
}

type Attributes = Record<string, unknown>

function attributes(base: Attributes, mine: Attributes, theirs: Attributes): Attributes | null {
  const merged: Attributes = {}
  for (const name of new Set([...Object.keys(mine), ...Object.keys(theirs)])) {
    const [was, one, other] = [base[name], mine[name], theirs[name]].map((value) => JSON.stringify(value ?? null))
    if (one !== other && was !== one && was !== other && name !== 'id') return null
    merged[name] = was === one || name === 'id' ? theirs[name] : mine[name]
  }
  return merged
}

/** The order of *mine*; blocks that theirs inserted or moved follow their predecessor in *theirs*. Of both moves mine wins. */
function ordered(known: number, mine: number[], theirs: number[]): number[] {
  const [movedByMe, movedByThem] = [moved(mine, known), moved(theirs, known)]
  const has = new Set(mine)
  const result = [...mine]
  theirs.forEach((key, index) => {
    if (has.has(key) && (key >= known || !movedByThem.has(key) || movedByMe.has(key))) return
    if (has.has(key)) result.splice(result.indexOf(key), 1)
    const before = theirs.slice(0, index).findLast((other) => has.has(other))
    result.splice(before === undefined ? 0 : result.indexOf(before) + 1, 0, key)
    has.add(key)
  })
  return result
}

function moved(keys: number[], known: number): Set<number> {
  const common = keys.filter((key) => key < known)
  const stayed = new Set(rising(common).map((index) => common[index]!))
  return new Set(common.filter((key) => !stayed.has(key)))
}
