// PURE: gives tables that were typed or pasted the shape that Markdown has: a header, one paragraph a cell, no cell that spans others.
import type { Node } from '@tiptap/pm/model'
import { type EditorState, TextSelection, type Transaction } from '@tiptap/pm/state'
import { TableMap } from '@tiptap/pm/tables'
import { flatOf, isFlat } from './flatcell'

const MOST_CELLS = 10_000 // of a table with spans that becomes one without

/** A table and the position before it. */
interface Table {
  node: Node
  at: number
}

/** A transaction that shapes the tables in which *before* and *now* differ; null: they have their shape. */
export function shaped(before: Node, now: EditorState): Transaction | null {
  const from = before.content.findDiffStart(now.doc.content)
  if (from === null) return null
  const { a, b } = before.content.findDiffEnd(now.doc.content)!
  const former = tablesIn(before, from, Math.max(a, from))
  const { tr } = now
  for (const table of tablesIn(now.doc, from, Math.max(b, from)).reverse()) {
    if (former.some(({ node }) => node === table.node)) continue // it was moved
    const old = table.at < from ? former.find(({ at }) => at === table.at)?.node : undefined
    if (!old || isPlain(old)) shape(tr, table, !old || hasHeader(old))
    align(tr, table.at)
    widen(tr, table.at, old)
  }
  return tr.docChanged ? tr : null
}

function tablesIn(doc: Node, from: number, to: number): Table[] {
  const tables: Table[] = []
  doc.nodesBetween(from, Math.min(to, doc.content.size), (node, at) => {
    if (node.type.name === 'table') tables.push({ node, at })
    return node.type.name !== 'table' && !node.isTextblock
  })
  return tables
}

const rowsOf = (table: Node) => table.children.map((row) => row.children)
const isHeader = (cell: Node) => cell.type.name === 'tableHeader'
const isSpanned = ({ attrs }: Node) => attrs['colspan'] > 1 || attrs['rowspan'] > 1

/** Whether Markdown has a form for the cells of a table. */
const isPlain = (table: Node) => rowsOf(table).every((row) => row.every((cell) => isFlat(cell) && !isSpanned(cell)))

/** Whether the first row, and no other, is one of headers. */
const hasHeader = (table: Node) => rowsOf(table).every((row, y) => row.every((cell) => isHeader(cell) === (y === 0)))

/** Rewrites a table cell by cell, so that the cursor keeps its place. */
function shape(tr: Transaction, { node, at }: Table, withHeader: boolean): void {
  const table = rowsOf(node).some((row) => row.some(isSpanned)) ? spread(tr, node, at) : node
  for (const { cell, place, y } of placesOf(table, at).reverse()) {
    flatten(tr, cell, place)
    const { tableHeader, tableCell } = tr.doc.type.schema.nodes
    const type = !withHeader ? cell.type : y === 0 ? tableHeader! : tableCell!
    if (type !== cell.type) tr.setNodeMarkup(place, type, cell.attrs)
  }
}

function* cellsOf(table: Node, at: number): Generator<{ cell: Node; place: number; y: number; x: number }> {
  let place = at + 1
  for (const [y, row] of table.children.entries()) {
    let inside = place + 1
    for (const [x, cell] of row.children.entries()) {
      yield { cell, place: inside, y, x }
      inside += cell.nodeSize
    }
    place += row.nodeSize
  }
}
const placesOf = (table: Node, at: number) => [...cellsOf(table, at)]

/** Makes the content of a cell one paragraph; the cursor stays at its letter. */
function flatten(tr: Transaction, cell: Node, place: number): void {
  const flat = isFlat(cell) ? null : flatOf(cell)
  if (!flat) return
  const { $head } = tr.selection
  const offset = $head.pos - place - 1
  const line = flat.lines.find(({ from, size }) => offset >= from && offset <= from + size)
  tr.replaceWith(place + 1, place + cell.nodeSize - 1, flat.paragraph)
  if (line) tr.setSelection(TextSelection.create(tr.doc, place + 2 + line.to + offset - line.from))
}

/** Replaces the table at *at* by one whose cells span no others: the places they covered are empty. */
function spread(tr: Transaction, table: Node, at: number): Node {
  const { map, width, height } = TableMap.get(table)
  if (map.length > MOST_CELLS) return table
  const seen = new Set<number>([0]) // a place without a cell
  const placed = map.map((position) => {
    const cell = seen.has(position) ? null : table.nodeAt(position)
    seen.add(position)
    const attrs = { ...cell?.attrs, colspan: 1, rowspan: 1, colwidth: null }
    const type = cell?.type ?? table.type.schema.nodes['tableCell']!
    return type.createAndFill(attrs, cell?.content)!
  })
  const { tableRow } = table.type.schema.nodes
  const rows = Array.from({ length: height }, (_, y) => tableRow!.create(null, placed.slice(y * width, (y + 1) * width)))
  const made = table.type.create(table.attrs, rows)
  tr.replaceWith(at, at + table.nodeSize, made)
  return made
}

/** Gives cells without an alignment that of their column, if the others of the column agree. */
function align(tr: Transaction, at: number): void {
  const table = tr.doc.nodeAt(at)!
  const columns: Set<string>[] = []
  const cells = placesOf(table, at)
  for (const { cell, x } of cells) {
    const alignments = (columns[x] ??= new Set())
    if (cell.attrs['align']) alignments.add(cell.attrs['align'])
  }
  for (const { cell, place, x } of cells) {
    const [only, another] = columns[x]!
    if (!cell.attrs['align'] && only && !another) tr.setNodeAttribute(place, 'align', only)
  }
}

/** Gives the cells of a column one width if they differ: that of the column in *old*, else the first that one of them has. */
function widen(tr: Transaction, at: number, old: Node | undefined): void {
  const table = tr.doc.nodeAt(at)!
  const cells = placesOf(table, at)
  if (cells.some(({ cell }) => isSpanned(cell))) return
  const widths = widthsOf(table)
  const formerly = old && old.firstChild!.childCount === widths.length ? widthsOf(old) : null
  for (const { cell, place, x } of cells) {
    const column = widths[x] ?? []
    if (column.every((width) => width === column[0])) continue
    const width = formerly ? formerly[x]![0] : column.find((each) => each !== null)
    if (widthOf(cell) !== width) tr.setNodeAttribute(place, 'colwidth', width == null ? null : [width])
  }
}

/** The widths of the cells of each column from above, null for one that has none. */
function widthsOf(table: Node): (number | null)[][] {
  const columns: (number | null)[][] = []
  for (const row of rowsOf(table)) for (const [x, cell] of row.entries()) (columns[x] ??= []).push(widthOf(cell))
  return columns
}

const widthOf = (cell: Node): number | null => cell.attrs['colwidth']?.[0] ?? null
