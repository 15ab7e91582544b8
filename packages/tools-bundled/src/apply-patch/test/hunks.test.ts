import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { begin, patchSession, unified } from './patch-session.ts'

const { call, refusal, put, text, workspace } = patchSession()
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('')

describe('a hunk', () => {
  it('may be at other lines than stated, and the result says so', async () => {
    await put('a.txt', `new\nnew\n${numbered(9)}`)
    const { files } = await call({
      patch: unified(
        'a.txt', '@@ -2,3 +2,3 @@', ' line 2', '-line 3', '+three', ' line 4', '@@ -8 +8 @@', '-line 8', '+eight',
      ),
    })
    expect(files).toEqual([
      {
        path: 'a.txt', change: 'changed', hunks: 2,
        inexact: [
          { hunk: 1, line: 4, offset: 2 }, { hunk: 2, line: 10, offset: 2 },
        ],
      },
    ])
    expect(await text('a.txt')).toBe(`new\nnew\n${numbered(9)}`.replace('line 3', 'three').replace('line 8', 'eight'))
  })

  it.each([
    ['line_ends', 'a\r\nb\r\nc\r\n', 'a\r\nB\r\nc\r\n'],
    ['line_ends', 'a\nb\nc', 'a\nB\nc'],
    ['trailing_whitespace', 'a  \nb\nc\n', 'a  \nB\nc\n'],
    ['whitespace', '  a\n  b\n  c\n', '  a\nB\n  c\n'],
  ])('may differ in %s: %j', async (fuzz, before, after) => {
    await put('a.txt', before)
    const { files, reverse } = await call({ patch: unified('a.txt', '@@ -1,3 +1,3 @@', ' a', '-b', '+B', ' c') })
    expect(files).toMatchObject([{ inexact: [{ hunk: 1, line: 1, fuzz }] }])
    expect(await text('a.txt')).toBe(after)
    await call({ patch: reverse as string })
    expect(await text('a.txt')).toBe(before)
  })

  it('may be in a patch whose own lines end in CRLF', async () => {
    await put('a.txt', 'a\nb\n')
    await call({ patch: unified('a.txt', '@@ -1,2 +1,2 @@', ' a', '-b', '+c').replaceAll('\n', '\r\n') })
    expect(await text('a.txt')).toBe('a\nc\n')
  })

  it('may have wrong numbers of lines, and the result says so', async () => {
    await put('a.txt', numbered(4))
    const { files } = await call({
      patch: unified('a.txt', '@@ -1,9 +1,9 @@', ' line 1', '-line 2', '+two', ' line 3'),
    })
    expect(files).toMatchObject([{ inexact: [{ hunk: 1, line: 1, recounted: true }] }])
    expect(await text('a.txt')).toBe(numbered(4).replace('line 2', 'two'))
  })

  it('keeps the bytes of a file that is not UTF-8', async () => {
    await put('a.txt', Buffer.from('caf\xe9\none\nna\xefve\n', 'latin1'))
    await call({ patch: unified('a.txt', '@@ -2 +2 @@', '-one', '+two ü') })
    expect(await readFile(join(workspace, 'a.txt'), 'latin1')).toBe('caf\xe9\ntwo \xc3\xbc\nna\xefve\n')
  })

  it('is refused with its name and lines if it fits in several places', async () => {
    await put('a.txt', 'x\n}\nx\n}\n')
    for (const patch of [
      unified('a.txt', '@@ -9 +9 @@', '-}', '+]'), begin('*** Update File: a.txt', '@@', '-}', '+]'),
    ]) {
      expect(await refusal({ patch })).toMatchObject({
        code: 'InputInvalid', message: expect.stringContaining('Hunk 1 of "a.txt" fits at lines 2, 4.'),
      })
    }
    await call({ patch: unified('a.txt', '@@ -4 +4 @@', '-}', '+]') })
    expect(await text('a.txt')).toBe('x\n}\nx\n]\n')
  })

  it('is refused with its name and the missing line if it fits nowhere, and no file changes', async () => {
    await put('a.txt', 'one\ntwo\n')
    await put('b.txt', 'b\n')
    const patch =
      unified('b.txt', '@@ -1 +1 @@', '-b', '+B')
      + unified('a.txt', '@@ -1 +1 @@', '-one', '+1', '@@ -2 +2 @@', '-three', '+3')
    expect(await refusal({ patch })).toMatchObject({
      code: 'InputInvalid',
      message: expect.stringMatching(/^Hunk 2 of "a\.txt" does not fit .* does not have the line "three"\./),
    })
    expect([await text('a.txt'), await text('b.txt')]).toEqual(['one\ntwo\n', 'b\n'])
  })
})
