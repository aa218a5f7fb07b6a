// The toolbar: one stop for the Tab key; the arrow keys move within it, Escape returns to the text.
import type { Editor } from '@tiptap/core'
import { type Action, BLOCKS, HISTORY, INSERTIONS, MARKS, MOVES, TABLE } from './actions'
import { button, element } from '../dom'
import { EDITOR } from '../words'

/** The toolbar of *editor*. more: actions that need the page. */
export function toolbar(editor: Editor, more: Action[]): HTMLElement {
  const bar = element('div', { class: 'toolbar', role: 'toolbar', 'aria-label': EDITOR.format })
  const drawn = [MARKS, BLOCKS, [...INSERTIONS, ...more], MOVES, HISTORY].map((group) => groupOf(editor, group))
  const table = groupOf(editor, TABLE)
  table.box.setAttribute('aria-label', EDITOR.table)
  bar.append(...drawn.map((group) => group.box), table.box)
  const draw = () => {
    table.box.hidden = !editor.isActive('table')
    for (const group of drawn) group.draw()
    keepOneStop(bar)
  }
  editor.on('transaction', draw)
  draw()
  bar.addEventListener('keydown', (event) => along(event, bar, editor))
  return bar
}

/** Buttons for *actions*; draw() shows which of them are on. */
export function groupOf(editor: Editor, actions: Action[]): { box: HTMLElement; draw(): void } {
  const buttons = actions.map((action) => buttonOf(editor, action))
  const draw = () =>
    actions.forEach(({ isOn }, index) => isOn && buttons[index]!.setAttribute('aria-pressed', String(isOn(editor))))
  return { box: element('div', { class: 'group', role: 'group' }, ...buttons), draw }
}

function buttonOf(editor: Editor, action: Action): HTMLButtonElement {
  const title = action.keys ? `${action.label} (${action.keys})` : action.label
  const names = { 'aria-label': action.label, title, tabindex: '-1', 'data-sign': action.sign }
  const run = () => {
    editor.view.focus() // at once: what is typed next belongs to the text
    action.run(editor)
  }
  return button('', run, names)
}

const shownIn = (bar: HTMLElement) =>
  [...bar.querySelectorAll('button')].filter((each) => !each.closest<HTMLElement>('.group')!.hidden)

function keepOneStop(bar: HTMLElement): void {
  const all = shownIn(bar)
  if (!all.some((each) => each.tabIndex === 0)) stopAt(bar, all[0]!)
}

function stopAt(bar: HTMLElement, chosen: HTMLButtonElement): void {
  for (const each of bar.querySelectorAll('button')) each.tabIndex = each === chosen ? 0 : -1
}

function along(event: KeyboardEvent, bar: HTMLElement, editor: Editor): void {
  const all = shownIn(bar)
  const now = all.indexOf(document.activeElement as HTMLButtonElement)
  const goals: Record<string, number> = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: all.length - 1 }
  const goal = goals[event.key]
  if (event.key === 'Escape') editor.view.focus()
  else if (goal === undefined) return
  else {
    const next = all[(goal + all.length) % all.length]!
    stopAt(bar, next)
    next.focus()
  }
  event.preventDefault()
}
