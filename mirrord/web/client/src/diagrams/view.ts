// Code in the language `mermaid`: the diagram, and its source while a person writes it, asks for it, or it cannot be drawn.
import { Extension } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { type EditorState, Plugin, TextSelection } from '@tiptap/pm/state'
import { Decoration, DecorationSet, type EditorView, type NodeView, type NodeViewConstructor } from '@tiptap/pm/view'
import { element } from '../dom'
import { ignores } from '../views/fold'
import { languageOf } from '../views/highlighting'
import { DIAGRAM } from '../words'
import { type Drawing, draw } from './drawing'

const REST = 400 // ms without a key after which a diagram is drawn again
const DARK = window.matchMedia('(prefers-color-scheme: dark)')

const isDiagram = (node: Node) => node.type.name === 'codeBlock' && languageOf(node) === 'mermaid'

/** Marks the diagram that has the cursor: its source is shown. */
export const Diagrams = Extension.create({
  name: 'mirrordDiagrams',
  addProseMirrorPlugins: () => [new Plugin({ props: { decorations: writing } })],
})

function writing({ doc, selection: { $from, $to } }: EditorState): DecorationSet | null {
  const ends = [$from, $to].filter(({ parent }) => isDiagram(parent))
  if (!ends.length) return null
  const marked = ends.map(($end) => Decoration.node($end.before(), $end.after(), { class: 'writing' }))
  return DecorationSet.create(doc, marked)
}

/** The view of code; of other languages ProseMirror draws what the schema says. */
export const codeBlock: NodeViewConstructor = (node, view, getPos) =>
  isDiagram(node) ? diagram(node, view, getPos) : (undefined as unknown as NodeView)

function diagram(first: Node, view: EditorView, getPos: () => number | undefined): NodeView {
  const content = element('code')
  const source = element('button', { type: 'button', class: 'source', 'aria-expanded': 'false' }, DIAGRAM.source)
  const shown = element('div', { class: 'drawing' })
  const figure = element('div', { class: 'figure', contenteditable: 'false' }, shown, source)
  const dom = element('div', { class: 'diagram', 'data-state': 'drawing' }, figure, element('pre', {}, content))
  const drawing = redrawing(dom, shown, first)
  source.addEventListener('mousedown', (event) => event.preventDefault())
  source.addEventListener('click', () => {
    const isOpen = dom.classList.toggle('open')
    source.setAttribute('aria-expanded', String(isOpen))
    if (isOpen) enter(view, getPos())
  })
  return {
    dom,
    contentDOM: content,
    update: (node) => isDiagram(node) && node.sameMarkup(first) && (drawing.change(node), true),
    ignoreMutation: ignores(content),
    stopEvent: ({ target }) => target === source,
    destroy: drawing.end,
  }
}

/** Puts the cursor at the beginning of the source. */
function enter(view: EditorView, at: number | undefined): void {
  if (at === undefined || !view.editable) return
  view.dispatch(view.state.tr.setSelection(TextSelection.create(view.state.doc, at + 1)))
  view.focus()
}

/** Keeps the drawing in *shown* as its code and the colours of the system are. */
function redrawing(dom: HTMLElement, shown: HTMLElement, first: Node) {
  let code = first.textContent
  let address = ''
  let timer = 0
  const show = (drawing: Drawing) => {
    URL.revokeObjectURL(address)
    address = 'svg' in drawing ? URL.createObjectURL(new Blob([drawing.svg], { type: 'image/svg+xml' })) : ''
    dom.dataset['state'] = address ? 'drawn' : 'wrong'
    const told = 'error' in drawing ? element('p', { class: 'wrong', role: 'status' }, drawing.error) : null
    shown.replaceChildren(told ?? element('img', { src: address, alt: altOf(code) }))
  }
  const redraw = async () => {
    const asked = { code, isDark: DARK.matches }
    const drawing = code.trim() ? await draw(asked) : { error: DIAGRAM.empty }
    if (!isEnded && asked.code === code && asked.isDark === DARK.matches) show(drawing)
  }
  let isEnded = false
  DARK.addEventListener('change', redraw)
  void redraw()
  return {
    change(node: Node) {
      if (node.textContent === code) return
      code = node.textContent
      clearTimeout(timer)
      timer = window.setTimeout(redraw, REST)
    },
    end() {
      isEnded = true
      clearTimeout(timer)
      DARK.removeEventListener('change', redraw)
      URL.revokeObjectURL(address)
    },
  }
}

/** What a person who does not see the diagram is told: its title, or its kind. */
const altOf = (code: string) =>
  /^\s*accTitle\s*:\s*(.+)$/m.exec(code)?.[1] ?? DIAGRAM.alt(/^\s*([a-z]\w*)/im.exec(code.replace(/^\s*%%.*$/gm, ''))?.[1] ?? '')
