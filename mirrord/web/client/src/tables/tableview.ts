// The view of tables: columns with a width have it, and a table that is wider than the text scrolls.
import type { Node } from '@tiptap/pm/model'
import type { NodeViewConstructor, ViewMutationRecord } from '@tiptap/pm/view'
import { element } from '../dom'

const LEAST = 25 // px of a column without a width beside one with a width
const BORDER = 1 // px of a table beside its columns

export const tableView: NodeViewConstructor = (node) => {
  const body = element('tbody')
  const table = element('table', {}, element('colgroup'), body)
  showWidths(table, widthsOf(node))
  return {
    dom: element('div', { class: 'tableWrapper' }, table),
    contentDOM: body,
    update(now) {
      if (now.type !== node.type) return false
      showWidths(table, widthsOf(now))
      return true
    },
    ignoreMutation: ({ target }: ViewMutationRecord) => !body.contains(target),
  }
}

/** The widths of the columns of a table in pixels, null for those as wide as their words. */
export const widthsOf = (table: Node): (number | null)[] =>
  (table.firstChild?.children ?? []).flatMap(({ attrs }) =>
    Array.from({ length: attrs['colspan'] }, (_, index) => attrs['colwidth']?.[index] || null),
  )

/** Lays out a table with these widths of columns. */
export function showWidths(table: HTMLTableElement, widths: (number | null)[]): void {
  const columns = table.querySelector('colgroup')!
  const isResized = widths.some(Boolean)
  if (!isResized && !columns.childElementCount) return
  columns.replaceChildren(...(isResized ? widths : []).map(columnOf))
  const sum = widths.reduce((total: number, width) => total + (width ?? LEAST), BORDER)
  table.style.minWidth = isResized ? `${sum}px` : ''
}

function columnOf(width: number | null): HTMLElement {
  const column = element('col')
  if (width) column.style.width = `${width}px`
  return column
}
