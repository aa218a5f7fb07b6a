// Tables that were copied: what their looks mean. Their shape is given to them in the editor (`tableshape.ts`).
import { made } from './made'

/** Keeps the alignment of columns, and takes tables away that only frame a text. Inner tables come first. */
export function simplifyTables(root: HTMLElement): void {
  for (const table of [...root.querySelectorAll('table')].reverse()) {
    const cells = [...table.rows].flatMap((row) => [...row.cells])
    if (cells.length < 2) table.replaceWith(...(cells[0]?.childNodes ?? []))
    else alignColumns(table)
    for (const bold of table.rows[0]?.querySelectorAll('b, strong') ?? []) bold.replaceWith(...bold.childNodes) // as headings are
    if (table.caption) captioned(table, table.caption)
  }
}

function captioned(table: HTMLTableElement, caption: HTMLElement): void {
  const words = made(table, 'p')
  words.append(...caption.childNodes)
  caption.remove()
  table.before(words)
}

/** Markdown aligns columns: a column has the alignment that all its cells with words below the first row agree on. */
function alignColumns(table: HTMLTableElement): void {
  const columns: HTMLTableCellElement[][] = []
  for (const row of table.rows) {
    let x = 0
    for (const cell of row.cells) {
      ;(columns[x] ??= []).push(cell)
      x += Math.min(cell.colSpan, 1000)
    }
  }
  const isMerged = columns.flat().some((cell) => cell.rowSpan > 1) // then cells of one number are in several columns
  for (const cells of columns) {
    const all = new Set(cells?.filter((cell) => isBody(cell) && cell.textContent.trim()).map(alignOf))
    const [only] = all.size === 1 && !isMerged ? all : [null]
    for (const cell of cells ?? []) {
      cell.removeAttribute('align')
      if (only) cell.setAttribute('align', only)
    }
  }
}

const isBody = (cell: HTMLTableCellElement) => cell.closest('table')!.rows[0] !== cell.parentElement

function alignOf(cell: HTMLTableCellElement): string | null {
  const style = cell.getAttribute('data-style') ?? cell.getAttribute('style') ?? ''
  const align = (/text-align\s*:\s*(\w+)/i.exec(style)?.[1] ?? cell.getAttribute('align') ?? '').toLowerCase()
  return ['center', 'right'].includes(align) ? align : null
}
