// Places in the text where something will be put that is on its way: each has a mark, which moves with the text before it.
import { Plugin, PluginKey } from '@tiptap/pm/state'
import { Decoration, DecorationSet, type EditorView } from '@tiptap/pm/view'
import { element } from '../dom'

type Step = { begin: object; at: number; label: string } | { end: object }
const KEY = new PluginKey<DecorationSet>('mirrordPlaces')

/** The plugin that shows the marks. */
export function places(): Plugin {
  return new Plugin<DecorationSet>({
    key: KEY,
    state: {
      init: () => DecorationSet.empty,
      apply(transaction, known) {
        const now = known.map(transaction.mapping, transaction.doc)
        const step = transaction.getMeta(KEY) as Step | undefined
        if (!step) return now
        if ('end' in step) return now.remove(now.find(undefined, undefined, (spec) => spec['mark'] === step.end))
        const shown = () => element('span', { class: 'chip' }, `… ${step.label}`)
        return now.add(transaction.doc, [Decoration.widget(step.at, shown, { mark: step.begin, side: -1 })])
      },
    },
    props: { decorations: (state) => KEY.getState(state) },
  })
}

/** A place that is marked. */
export interface Place {
  /** Removes the mark, and returns where it was; null: the editor has ended. */
  end(): number | null
}

/** Marks a place with a *label*. */
export function mark(view: EditorView, at: number, label: string): Place {
  const begin = {}
  let last = at
  view.dispatch(view.state.tr.setMeta(KEY, { begin, at, label } satisfies Step))
  return {
    end() {
      if (view.isDestroyed) return null
      last = KEY.getState(view.state)!.find(undefined, undefined, (spec) => spec['mark'] === begin)[0]?.from ?? last
      view.dispatch(view.state.tr.setMeta(KEY, { end: begin } satisfies Step))
      return Math.min(last, view.state.doc.content.size)
    },
  }
}
