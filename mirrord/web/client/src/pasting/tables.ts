// Tables that were copied, as Markdown has them: a row of headings, and cells of one line without merged places.
import { made } from './made'

/** A row; null: a place that another cell reached into. */
type Cells = (HTMLTableCellElement | null)[]

const MOST_PLACES = 20_000 // rows times columns; larger tables keep their shape
const INLINE =
  'a,b,strong,i,em,code,s,del,strike,u,sup,sub,img,mark,span[data-mirrord],kbd,tt,ins,small,abbr,cite,q,samp,var'

/** Simplifies all tables below *root*, inner ones first. */
export function simplifyTables(root: HTMLElement): void {
  for (const table of [...root.querySelectorAll('table')].reverse()) simplify(table)
}

function simplify(table: HTMLTableElement): void {
  const rows = [...table.rows].filter((row) => row.cells.length)
  if (table.parentElement?.closest('td, th')) return flatten(table, rows)
  const places = placesOf(rows)
  if (!places) return
  if (places.length < 2 && (places[0]?.length ?? 0) < 2) return void table.replaceWith(...(rows[0]?.cells[0]?.childNodes ?? []))
  const aligned = alignmentsOf(places)
  const simple = made(table, 'table')
  places.forEach((row, index) => simple.append(rowOf(table, row, index === 0 ? 'th' : 'td', aligned)))
  if (table.caption?.textContent?.trim()) table.before(paragraph(table.caption))
  table.replaceWith(simple)
}

/** The cells by rows and columns; a merged cell is at its first place, the others are empty. null: too many. */
function placesOf(rows: HTMLTableRowElement[]): Cells[] | null {
  const places: (HTMLTableCellElement | null | undefined)[][] = rows.map(() => [])
  let [width, count] = [0, 0]
  for (const [y, row] of rows.entries()) {
    let x = 0
    for (const cell of row.cells) {
      while (places[y]![x] !== undefined) x++
      const height = Math.min(cell.rowSpan || 1, rows.length - y)
      const span = Math.min(cell.colSpan, 1000)
      if ((count += height * span) > MOST_PLACES) return null
      for (let down = 0; down < height; down++) for (let right = 0; right < span; right++) places[y + down]![x + right] = null
      places[y]![x] = cell
      width = Math.max(width, (x += span))
    }
  }
  if (width * rows.length > MOST_PLACES) return null
  return places.map((row) => Array.from({ length: width }, (_, x) => row[x] ?? null))
}

/** The alignment of each column, where all cells that have words agree on it. */
function alignmentsOf(places: Cells[]): (string | null)[] {
  return places[0]!.map((_, x) => {
    const cells = places.slice(1).map((row) => row[x]).filter((cell) => cell?.textContent?.trim())
    const all = new Set(cells.map((cell) => alignOf(cell!)))
    return all.size === 1 ? [...all][0]! : null
  })
}

function alignOf(cell: HTMLTableCellElement): string | null {
  const style = cell.getAttribute('data-style') ?? cell.getAttribute('style') ?? ''
  const align = (/text-align\s*:\s*(\w+)/i.exec(style)?.[1] ?? cell.getAttribute('align') ?? '').toLowerCase()
  return ['center', 'right'].includes(align) ? align : null
}

function rowOf(table: Element, cells: Cells, name: string, aligned: (string | null)[]): HTMLElement {
  const row = made(table, 'tr')
  cells.forEach((cell, x) => {
    const simple = made(table, name, aligned[x] ? { align: aligned[x] } : {})
    if (cell) simple.append(...lineOf(cell))
    if (name === 'th') for (const bold of simple.querySelectorAll('b, strong')) bold.replaceWith(...bold.childNodes)
    row.append(simple)
  })
  return row
}

/** What is in a cell as one line: blocks are separated by breaks, items begin with a bullet. */
function lineOf(cell: Element): Node[] {
  const line: Node[] = []
  const isBegun = () => line.length > 0 && line.at(-1)!.nodeName !== 'BR'
  const visit = (node: Node) => {
    if (node.nodeType === Node.TEXT_NODE) {
      const text = node.nodeValue!.replace(/\s+/g, ' ')
      if (isBegun() ? text : text.trim()) line.push(textNode(cell, isBegun() ? text : text.trimStart()))
    } else if (node.nodeType === Node.ELEMENT_NODE) visitElement(node as Element)
  }
  const visitElement = (each: Element) => {
    if (each.matches(INLINE)) return void line.push(each)
    if (each.nodeName === 'BR') return void (isBegun() && line.push(made(cell, 'br')))
    const isBlock = !each.matches('span, font, label')
    if (isBlock && isBegun()) line.push(made(cell, 'br'))
    if (each.nodeName === 'LI') line.push(textNode(cell, '• '))
    each.childNodes.forEach(visit)
    if (isBlock && isBegun()) line.push(made(cell, 'br'))
  }
  cell.childNodes.forEach(visit)
  while (line.at(-1)?.nodeName === 'BR') line.pop()
  return line
}

const textNode = (near: Node, text: string) => near.ownerDocument!.createTextNode(text)

/** A table in a cell: its rows as lines. */
function flatten(table: HTMLTableElement, rows: HTMLTableRowElement[]): void {
  const lines = rows.map((row) => {
    const line = made(table, 'div')
    ;[...row.cells].forEach((cell, index) => line.append(index ? ' ' : '', ...lineOf(cell)))
    return line
  })
  table.replaceWith(...lines)
}

function paragraph(caption: Element): HTMLElement {
  const words = made(caption, 'p')
  words.append(...caption.childNodes)
  return words
}
