// Widths of columns by hand: a handle on the edge of the column under the mouse, or, without a mouse, of that with the cursor.
import type { Editor } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import type { Transaction } from '@tiptap/pm/state'
import { TableMap } from '@tiptap/pm/tables'
import type { EditorView } from '@tiptap/pm/view'
import { element } from '../dom'
import { VIEW } from '../words'
import { setColumn, toColumnWidth } from './columns'
import { showWidths, widthsOf } from './tableview'

const REACH = 6 // px beside an edge where the mouse means it

/** cell: the position of a cell of the column in the first row. */
interface Edge {
  cell: number
  column: number
  table: Node
  dom: HTMLTableElement
}

/** The handle of columns, for the box around the text. */
export function columnHandle(editor: Editor): HTMLElement {
  const handle = element('div', { class: 'column-edge', title: VIEW.resizeColumn, hidden: true })
  const own: Handle = { view: editor.view, handle, edge: null, drag: null }
  const area = editor.view.dom.parentElement!
  area.addEventListener('pointermove', (event) => {
    if (own.drag || event.pointerType !== 'mouse' || event.buttons || event.target === handle) return
    show(own, edgeAt(editor.view, event))
  })
  area.addEventListener('pointerleave', () => own.drag || show(own, null))
  editor.on('transaction', ({ transaction }) => {
    if (own.drag) follow(own, transaction)
    else if (!hasMouse()) show(own, edgeAtCursor(editor))
    else if (transaction.docChanged) show(own, null)
  })
  listen(own)
  return handle
}

/** drag: the pointer that drags, where it began, and the width of the column there; width: that now. */
interface Handle {
  view: EditorView
  handle: HTMLElement
  edge: Edge | null
  drag: { x: number; from: number; width: number; ending: AbortController } | null
}

const hasMouse = () => matchMedia('(hover: hover)').matches

/** The edge beside a point that is in a cell of a table without merged cells. */
function edgeAt(view: EditorView, { target, clientX }: PointerEvent): Edge | null {
  const cell = target instanceof Element ? target.closest<HTMLTableCellElement>('td, th') : null
  if (!cell || !view.dom.contains(cell)) return null
  const { left, right } = cell.getBoundingClientRect()
  if (right - clientX <= REACH) return edgeOf(view, cell, cell.cellIndex)
  return clientX - left <= REACH && cell.cellIndex > 0 ? edgeOf(view, cell, cell.cellIndex - 1) : null
}

function edgeAtCursor({ view, state }: Editor): Edge | null {
  const { node } = view.domAtPos(state.selection.head)
  const near = node instanceof Element ? node : node.parentElement
  const cell = near?.closest<HTMLTableCellElement>('td, th')
  return cell && view.dom.contains(cell) ? edgeOf(view, cell, cell.cellIndex) : null
}

function edgeOf(view: EditorView, cell: HTMLTableCellElement, column: number): Edge | null {
  const dom = cell.closest('table')
  if (!dom) return null
  const $cell = view.state.doc.resolve(view.posAtDOM(cell, 0))
  let depth = $cell.depth
  while (depth && $cell.node(depth).type.name !== 'table') depth--
  const table = $cell.node(depth)
  if (!depth || hasMergedCells(table) || column >= table.firstChild!.childCount) return null
  return { cell: $cell.start(depth) + TableMap.get(table).map[column]!, column, table, dom }
}

const hasMergedCells = (table: Node) =>
  table.children.some((row) => row.children.some(({ attrs }) => attrs['colspan'] > 1 || attrs['rowspan'] > 1))

function show(own: Handle, edge: Edge | null): void {
  own.edge = edge
  own.handle.hidden = !edge
  if (edge) place(own.handle, edge)
}

function place(handle: HTMLElement, { dom, column }: Edge): void {
  const around = handle.parentElement!.getBoundingClientRect()
  const box = dom.getBoundingClientRect()
  const { right } = dom.rows[0]!.cells[column]!.getBoundingClientRect()
  const end = dom.parentElement!.getBoundingClientRect().right // of what is seen of a wide table
  handle.style.left = `${Math.min(right, end) - around.left}px`
  handle.style.top = `${box.top - around.top}px`
  handle.style.height = `${box.height}px`
}

function listen(own: Handle): void {
  const { handle } = own
  handle.addEventListener('mousedown', (event) => event.preventDefault()) // the selection stays
  handle.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || !own.edge) return
    const from = own.edge.dom.rows[0]!.cells[own.edge.column]!.offsetWidth
    own.drag = { x: event.clientX, from, width: from, ending: new AbortController() }
    window.addEventListener('keydown', stop, { signal: own.drag.ending.signal })
    handle.setPointerCapture(event.pointerId)
  })
  handle.addEventListener('pointermove', (event) => own.drag && own.edge && drag(own, own.edge, event.clientX))
  handle.addEventListener('pointerup', () => drop(own))
  handle.addEventListener('pointercancel', () => end(own))
  handle.addEventListener('dblclick', () => own.edge && commit(own, own.edge, null))
  const stop = ({ key }: KeyboardEvent) => key === 'Escape' && end(own)
}

function drag({ handle, drag }: Handle, edge: Edge, x: number): void {
  drag!.width = toColumnWidth(drag!.from + x - drag!.x)
  if (drag!.width !== drag!.from) draw(edge, drag!.width)
  place(handle, edge)
}

/** Shows a width that the document does not have yet. */
function draw({ dom, table, column }: Edge, width?: number): void {
  showWidths(dom, widthsOf(table).map((own, index) => (index === column ? (width ?? own) : own)))
}

/** Keeps the edge current when the document changes while it is dragged. */
function follow(own: Handle, { mapping, doc, docChanged }: Transaction): void {
  if (!docChanged || !own.edge) return
  const { pos, deleted } = mapping.mapResult(own.edge.cell)
  const table = deleted ? null : doc.resolve(pos).node(-1)
  if (table?.type.name === 'table' && own.edge.column < widthsOf(table).length) own.edge = { ...own.edge, cell: pos, table }
  else end(own)
}

function drop(own: Handle): void {
  const { drag, edge } = own
  if (!drag || !edge) return
  drag.ending.abort()
  own.drag = null
  if (drag.width !== drag.from) commit(own, edge, drag.width)
}

function end(own: Handle): void {
  if (own.edge) draw(own.edge)
  own.drag?.ending.abort()
  own.drag = null
  show(own, null)
}

/** Gives the column a width; null: as wide as its words. */
function commit(own: Handle, { cell }: Edge, width: number | null): void {
  own.view.dispatch(setColumn(own.view.state.tr, cell, 'colwidth', width === null ? null : [width]))
  show(own, null)
}
