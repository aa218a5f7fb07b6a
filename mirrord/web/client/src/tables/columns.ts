// Columns of tables: alignment and width are attributes of their cells, and Markdown has one of each for a column.
import type { Transaction } from '@tiptap/pm/state'
import { TableMap } from '@tiptap/pm/tables'

const NARROWEST = 30 // px that a person makes a column wide at least
const WIDEST = 10_000 // px

/** Whether a column may be *width* pixels wide. */
export const isColumnWidth = (width: number) => width >= NARROWEST && width <= WIDEST

/** The width that is nearest to *width* and allowed, in whole pixels. */
export const toColumnWidth = (width: number) => Math.round(Math.min(Math.max(width, NARROWEST), WIDEST))

/** Gives all cells of the column of the cell at *at* an attribute; those that span several columns keep theirs. */
export function setColumn(tr: Transaction, at: number, name: 'align' | 'colwidth', value: unknown): Transaction {
  const $cell = tr.doc.resolve(at)
  const [table, start] = [$cell.node(-1), $cell.start(-1)]
  const map = TableMap.get(table)
  const left = map.colCount(at - start)
  for (const cell of map.cellsInRect({ left, right: left + 1, top: 0, bottom: map.height }))
    if (table.nodeAt(cell)!.attrs['colspan'] === 1) tr.setNodeAttribute(start + cell, name, value)
  return tr
}
