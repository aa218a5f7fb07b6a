// The grip: a handle for dragging, at the left of the block under the mouse. Without a mouse there is none.
import type { Editor } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { NodeSelection, type Transaction } from '@tiptap/pm/state'
import type { EditorView } from '@tiptap/pm/view'
import { element } from '../dom'
import { MOVED, type Span, fit, put, spanAround, spanOf } from './moving'
import { EDITOR } from '../words'

const STILL = 4 // px that a press may move before it is a drag
const EDGE = 8 // px along the edge of a block where a drop goes beside the block, not into it
const SCROLLED = 80 // px along the edge of the window where a drag scrolls
const SPEED = 12 // px a frame

/** The grip, the line at the target of a drag, and the status of moves, for the box around the text. */
export function grip(editor: Editor): HTMLElement[] {
  const names = { class: 'grip', title: EDITOR.drag, 'aria-label': EDITOR.drag }
  const handle = element('button', { type: 'button', tabindex: '-1', hidden: true, ...names })
  const line = element('div', { class: 'goal', hidden: true })
  const told = element('p', { class: 'told', role: 'status' })
  const parts = { editor, handle, line, span: null, drag: null } satisfies Grip
  pointing(parts)
  dragging(parts)
  editor.on('transaction', ({ transaction }) => {
    if (transaction.docChanged) follow(parts, transaction)
    const moved = transaction.getMeta(MOVED) as Span | undefined
    if (moved) told.replaceChildren(placeOf(transaction.doc, moved))
  })
  return [handle, line, told]
}

/** span: the blocks that the grip moves. */
interface Grip {
  editor: Editor
  handle: HTMLElement
  line: HTMLElement
  span: Span | null
  drag: Drag | null
}

/** x, y: the point where the grip was pressed. goal: the position of a drop. frame: the next frame that scrolls. */
interface Drag {
  x: number
  y: number
  isOn: boolean
  goal: number | null
  frame: number
  ending: AbortController
}

function placeOf(doc: Node, { from }: Span): string {
  const $from = doc.resolve(from)
  return EDITOR.block($from.index() + 1, $from.parent.childCount)
}

/** Keeps span and goal current when the document changes. */
function follow(own: Grip, { mapping }: Transaction): void {
  if (!own.span) return
  const [from, to] = [mapping.map(own.span.from, 1), mapping.map(own.span.to, -1)]
  own.span = from < to ? { from, to } : null
  if (own.drag?.goal != null) own.drag.goal = mapping.map(own.drag.goal)
  if (!own.drag || !own.span) end(own)
}

function pointing(own: Grip): void {
  const { view } = own.editor
  const show = (event: PointerEvent) => {
    if (own.drag || event.pointerType !== 'mouse' || event.buttons || event.target === own.handle) return
    own.span = under(view, event.clientX, event.clientY)
    if (own.span) place(own)
    else end(own)
  }
  const area = view.dom.parentElement!
  area.addEventListener('pointermove', show)
  area.addEventListener('pointerleave', () => own.drag || end(own))
}

/** The blocks that a drag at a point moves: the block there, or all of a selection of several that contains it. */
function under(view: EditorView, x: number, y: number): Span | null {
  const span = spanAt(view, x, y)
  const selected = view.state.selection.empty ? null : spanOf(view.state)
  return span && selected && selected.from <= span.from && span.to <= selected.to ? selected : span
}

function spanAt(view: EditorView, x: number, y: number): Span | null {
  const at = positionAt(view, x, y)
  if (at === null) return null
  const $at = view.state.doc.resolve(at)
  return spanAround($at, $at.nodeAfter?.isBlock ? view.state.doc.resolve(at + $at.nodeAfter.nodeSize) : $at)
}

/** The position at a point; a point left or right of the text counts as in the text. */
function positionAt(view: EditorView, x: number, y: number): number | null {
  const { left, right } = (view.dom.firstElementChild ?? view.dom).getBoundingClientRect()
  const found = view.posAtCoords({ left: Math.max(left + 2, Math.min(x, right - 2)), top: y })
  if (!found) return null
  return found.inside >= 0 && view.state.doc.nodeAt(found.inside)!.isLeaf ? found.inside : found.pos
}

function place({ editor: { view }, handle, span }: Grip): void {
  const dom = view.nodeDOM(span!.from)
  handle.hidden = !(dom instanceof HTMLElement)
  if (!(dom instanceof HTMLElement)) return
  const around = handle.parentElement!.getBoundingClientRect()
  const style = getComputedStyle(dom)
  const line = Number.parseFloat(style.lineHeight) || 26
  const top = dom.getBoundingClientRect().top - around.top + (Number.parseFloat(style.paddingTop) || 0)
  handle.style.top = `${top + (line - handle.offsetHeight) / 2}px`
}

function dragging(own: Grip): void {
  const { handle } = own
  handle.addEventListener('mousedown', (event) => event.preventDefault()) // the selection stays
  handle.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || !own.span) return
    handle.setPointerCapture(event.pointerId)
    own.drag = { x: event.clientX, y: event.clientY, isOn: false, goal: null, frame: 0, ending: new AbortController() }
    window.addEventListener('keydown', stop, { signal: own.drag.ending.signal })
  })
  handle.addEventListener('pointermove', (event) => own.drag && drag(own, event))
  handle.addEventListener('pointerup', () => drop(own))
  handle.addEventListener('pointercancel', () => end(own))
  const stop = ({ key }: KeyboardEvent) => key === 'Escape' && end(own)
}

function drag(own: Grip, event: PointerEvent): void {
  const { editor, line, span } = own
  const { clientX, clientY } = event
  const now = own.drag!
  now.isOn ||= Math.hypot(clientX - now.x, clientY - now.y) > STILL
  if (!now.isOn || !span) return
  cancelAnimationFrame(now.frame)
  const way = Number(clientY > window.innerHeight - SCROLLED) - Number(clientY < SCROLLED)
  if (way) {
    window.scrollBy(0, way * SPEED)
    now.frame = requestAnimationFrame(() => drag(own, event)) // a mouse at rest sends no events
  }
  const goal = goalAt(editor.view, span, clientX, clientY)
  now.goal = goal?.at ?? null
  line.hidden = !goal
  if (!goal) return
  const around = line.parentElement!.getBoundingClientRect()
  line.style.top = `${goal.y - around.top}px`
  line.style.left = `${goal.box.left - around.left}px`
  line.style.width = `${goal.box.width}px`
}

interface Goal {
  at: number
  y: number
  box: DOMRect
}

/** The target of a drag to a point: beside the innermost block there that may have the dragged blocks as neighbours. */
function goalAt(view: EditorView, span: Span, x: number, y: number): Goal | null {
  const at = positionAt(view, x, y)
  if (at === null) return null
  const $at = view.state.doc.resolve(at)
  let found: (Goal & { how: string }) | null = null
  for (let depth = 1; depth <= $at.depth + 1; depth++) {
    const before = depth > $at.depth ? $at.pos : $at.before(depth)
    const dom = view.nodeDOM(before)
    if (!(dom instanceof HTMLElement)) break
    const box = dom.getBoundingClientRect()
    const isAbove = y < (box.top + box.bottom) / 2
    const beside = isAbove ? before : before + view.state.doc.nodeAt(before)!.nodeSize
    const how = fit(view.state.doc, span, beside)
    if (how && !(found?.how === 'asTheyAre' && how === 'asList'))
      found = { at: beside, y: isAbove ? box.top : box.bottom, box, how }
    if (how === 'asTheyAre' && (y - box.top < EDGE || box.bottom - y < EDGE)) break
  }
  return found
}

function drop(own: Grip): void {
  const { editor, span, drag } = own
  end(own)
  if (!span || !drag) return
  const { state } = editor
  if (drag.isOn) {
    const moved = drag.goal === null ? null : put(state, span, drag.goal)
    if (moved) editor.view.dispatch(moved)
  } else if (state.doc.nodeAt(span.from)!.nodeSize === span.to - span.from)
    editor.view.dispatch(state.tr.setSelection(NodeSelection.create(state.doc, span.from)))
  editor.view.focus()
}

function end(own: Grip): void {
  own.drag?.ending.abort()
  cancelAnimationFrame(own.drag?.frame ?? 0)
  own.drag = null
  own.handle.hidden = true
  own.line.hidden = true
}
