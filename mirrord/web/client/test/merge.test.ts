// The merge keeps everything that both sides wrote, and changes nothing else. Random cases print their seed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Block, agree, idOf, meaning } from '../src/document/document'
import { type Piece, merge } from '../src/merging/merge'
import { chance, edited, p } from './chance'

const list = (id: string, ...items: Block[]): Block => ({ type: 'bulletList', attrs: { id }, content: items })
const item = (id: string, text: string): Block => ({ type: 'listItem', attrs: { id }, content: [p(null, text)] })
const words = (pieces: Piece[]) => pieces.map(({ block }) => block.content?.[0]?.text)
const clashes = (pieces: Piece[]) => pieces.filter((piece) => piece.theirs)

const A = p('1', 'a')
const B = p('2', 'b')
const C = p('3', 'c')

test('an edit of each side in another block are both there', () => {
  const merged = merge([A, B], [p('1', 'mine'), B], [A, p('2', 'theirs')])
  assert.deepEqual(words(merged), ['mine', 'theirs'])
  assert.equal(clashes(merged).length, 0)
})

test('an edit of both sides in one block shows mine and keeps theirs beside it', () => {
  const merged = merge([A], [p('1', 'mine')], [p('1', 'theirs')])
  assert.deepEqual(words(merged), ['mine'])
  assert.equal(meaning(clashes(merged)[0]!.theirs!), meaning(p('1', 'theirs')))
})

test('the same edit of both sides is one edit', () => {
  assert.deepEqual(words(merge([A], [p('1', 'x')], [p('1', 'x')])), ['x'])
})

test('what was added on both sides is there once if it is the same, else twice', () => {
  assert.deepEqual(words(merge([A], [A, p(null, 'n')], [A, p('9', 'n')])), ['a', 'n'])
  assert.deepEqual(words(merge([A], [A, p('8', 'm')], [A, p('9', 't')])), ['a', 't', 'm'])
})

test('a block that comes back with an id takes it over', () => {
  const [first] = merge([p(null, 'n')], [p(null, 'n')], [p('9', 'n')])
  assert.equal(idOf(first!.block), '9')
})

test('an edit outlives a deletion, on either side', () => {
  assert.deepEqual(words(merge([A, B], [p('1', 'mine'), B], [B])), ['mine', 'b'])
  assert.deepEqual(words(merge([A, B], [B], [p('1', 'theirs'), B])), ['theirs', 'b'])
})

test('what one side deleted and the other left alone is gone', () => {
  assert.deepEqual(words(merge([A, B, C], [A, C], [B, C])), ['c'])
})

test('a block that they moved is where they put it, with what I typed in it', () => {
  assert.deepEqual(words(merge([A, B, C], [p('1', 'typed'), B, C], [B, C, A])), ['b', 'c', 'typed'])
})

test('a block that both moved is where I put it', () => {
  const D = p('4', 'd')
  assert.deepEqual(words(merge([A, B, C, D], [D, A, B, C], [A, D, B, C])), ['d', 'a', 'b', 'c'])
})

test('items of one list that each side changed are both changed', () => {
  const base = list('l', item('i', 'a'), item('j', 'b'))
  const mine = list('l', item('i', 'mine'), item('j', 'b'))
  const theirs = list('l', item('i', 'a'), item('j', 'theirs'), item('k', 'new'))
  const merged = merge([base], [mine], [theirs])
  assert.equal(clashes(merged).length, 0)
  const texts = merged[0]!.block.content!.map((each) => each.content![0]!.content![0]!.text)
  assert.deepEqual(texts, ['mine', 'theirs', 'new'])
})

test('one item that both sides changed makes its list a clash', () => {
  const both = merge([list('l', item('i', 'a'))], [list('l', item('i', 'mine'))], [list('l', item('i', 'theirs'))])
  assert.equal(clashes(both).length, 1)
})

const cell = (text: string, type = 'tableCell'): Block => ({ type, attrs: { align: null }, content: [p(null, text)] })
const table = (...rows: string[]): Block => ({
  ...{ type: 'table', attrs: { id: 't' } },
  content: rows.map((row, at) => ({
    type: 'tableRow',
    content: row.split(' ').map((text) => cell(text.replaceAll('_', ' '), at ? 'tableCell' : 'tableHeader')),
  })),
})
const cellsOf = ({ block }: Piece) =>
  block.content!.map((row) => row.content!.map((one) => one.content![0]!.content![0]!.text!.replaceAll(' ', '_')).join(' '))

test('cells of one table that each side changed are both changed, and words of one cell', () => {
  const merged = merge([table('a b', '1 one_two_three')], [table('a b', '9 uno_two_three')], [table('a B', '1 one_two_tre')])
  assert.equal(clashes(merged).length, 0)
  assert.deepEqual(cellsOf(merged[0]!), ['a B', '9 uno_two_tre'])
})

test('one cell that both sides changed makes its table a clash', () => {
  assert.equal(clashes(merge([table('a b', '1 2')], [table('a b', '8 2')], [table('a b', '9 2')])).length, 1)
})

test('a table that one side gave another shape, or other places to its rows or columns, is for a person', () => {
  const base = table('a b', '1 0', '2 0', '3 0')
  const theirs = table('a b', '1 0', '2 5', '3 0')
  for (const mine of [
    table('a b', '1 0', '2 0', '3 0', '4 0'),
    table('a b c', '1 0 0', '2 0 0', '3 0 0'),
    table('a b', '2 0', '3 0', '4 0'),
    table('b a', '0 1', '0 2', '0 3'),
  ])
    assert.equal(clashes(merge([base], [mine], [theirs])).length, 1)
})

test('how a column stands is changed beside what is in it', () => {
  const turned = (all: Block): Block => ({
    ...all,
    content: all.content!.map((row) => ({ ...row, content: row.content!.map((one) => ({ ...one, attrs: { align: 'right' } })) })),
  })
  const merged = merge([table('a b')], [turned(table('a b'))], [table('a B')])
  assert.equal(clashes(merged).length, 0)
  assert.deepEqual(merged[0]!.block, turned(table('a B')))
})

test('a mention of somebody else is a change, an id of a block is none', () => {
  const mention = (id: string): Block => ({ type: 'paragraph', attrs: {}, content: [{ type: 'mention', attrs: { id } }] })
  assert.notEqual(meaning(mention('a')), meaning(mention('b')))
  assert.equal(meaning(p('1', 'a')), meaning(p('2', 'a')))
})

test('what did not change stays the object it was', () => {
  const mine = [A, B, C]
  const merged = merge([{ ...A }, { ...B }, { ...C }], mine, [{ ...A }, p('2', 'x'), { ...C }])
  assert.ok(merged[0]!.block === A && merged[2]!.block === C)
})

const ROUNDS = 1_000
const say = (blocks: Block[]) => new Set(blocks.map(meaning))

test(`laws of the merge, in ${ROUNDS} random cases`, () => {
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const pick = chance(seed)
    const base = Array.from({ length: pick(7) }, (_, index) => p(`b${index}`, `text ${index % 4}`))
    const mine = edited(base, pick, 'm')
    const theirs = edited(base, pick, 't')
    const told = `seed ${seed}`
    const blocks = (pieces: Piece[]) => pieces.map((piece) => piece.block)
    assert.ok(agree(blocks(merge(base, mine, base)), mine), `${told}: nothing came, mine stays`)
    assert.ok(agree(blocks(merge(base, base, theirs)), theirs), `${told}: nothing typed, theirs comes`)
    assert.ok(agree(blocks(merge(base, mine, mine)), mine), `${told}: what I saved comes back`)
    const merged = merge(base, mine, theirs)
    const all = new Set([...say(blocks(merged)), ...say(merged.flatMap((piece) => piece.theirs ?? []))])
    const old = say(base)
    for (const side of [mine, theirs])
      for (const block of side) assert.ok(old.has(meaning(block)) || all.has(meaning(block)), `${told}: ${meaning(block)} is lost`)
    const ids = blocks(merged).map(idOf)
    assert.equal(new Set(ids).size, ids.length, `${told}: an id came twice`)
    assert.equal(new Set(merged.map((piece) => piece.mine).filter((at) => at !== null)).size, merged.filter((piece) => piece.mine !== null).length)
  }
})
