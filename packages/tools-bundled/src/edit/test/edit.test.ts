import { readFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { toolSession } from '../../../test/tool-session.ts'

describe('edit', () => {
  const tool = toolSession('edit')
  const text = () => readFile(join(tool.workspace, 'f.txt'), 'utf8')

  it('replaces a string and returns a diff', async () => {
    await tool.put('f.txt', 'one\ntwo\nthree\n')
    expect(await tool.call({ path: 'f.txt', old_string: 'two', new_string: '2' })).toEqual({
      path: 'f.txt', replacements: 1, diff: '--- a/f.txt\n+++ b/f.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n',
    })
    expect(await text()).toBe('one\n2\nthree\n')
  })

  it('fails and changes nothing if the string does not occur exactly once', async () => {
    await tool.put('f.txt', 'a\na\n')
    expect(await tool.refusal({ path: 'f.txt', old_string: 'b', new_string: 'c' }))
      .toMatchObject({ code: 'InputInvalid', message: expect.stringContaining('does not occur in "f.txt"') })
    expect(await tool.refusal({ path: 'f.txt', old_string: 'a', new_string: 'c' }))
      .toMatchObject({ code: 'InputInvalid', message: expect.stringContaining('occurs 2 times') })
    expect(await text()).toBe('a\na\n')
    expect(await tool.call({ path: 'f.txt', old_string: 'a', new_string: 'c', replace_all: true })).toMatchObject({
      replacements: 2,
    })
    expect(await text()).toBe('c\nc\n')
  })

  it('treats pattern characters literally', async () => {
    await tool.put('f.txt', '(a|b)$ .*')
    await tool.call({ path: 'f.txt', old_string: '(a|b)$', new_string: '$& $1 \\n' })
    expect(await text()).toBe('$& $1 \\n .*')
  })

  it('preserves CRLF and bytes that are not UTF-8', async () => {
    await tool.put('f.txt', Buffer.from('caf\xe9\r\nold\r\nend\r\n', 'latin1'))
    await tool.call({ path: 'f.txt', old_string: 'old\nend', new_string: 'new\nend' })
    expect((await readFile(join(tool.workspace, 'f.txt'))).toString('latin1')).toBe('caf\xe9\r\nnew\r\nend\r\n')
  })

  it.each([
    ['a missing file', 'none', 'NotFound'], ['a folder', '.', 'InputInvalid'],
    ['a file outside the workspace', '../x', 'CapabilityDenied'],
    ['a file of a gigabyte', 'huge', 'InputInvalid'],
  ])('refuses %s', async (_, path, code) => {
    await tool.put('huge')
    await truncate(join(tool.workspace, 'huge'), 1024 ** 3)
    expect((await tool.refusal({ path, old_string: 'a', new_string: 'b' })).code).toBe(code)
  })

  it('has the same result as splitting and joining', async () => {
    const piece = fc.constantFrom('a', 'b', '\n', 'é', '😀', '\ud83d\ude01', ' ', '$')
    const textOf = (min: number, max: number) =>
      fc.array(piece, { minLength: min, maxLength: max }).map((pieces) => pieces.join(''))
    await fc.assert(
      fc.asyncProperty(textOf(0, 30), textOf(1, 3), textOf(0, 3), fc.boolean(), async (content, before, after, all) => {
        fc.pre(before !== after)
        await tool.put('f.txt', content)
        const found = content.split(before).length - 1
        const overlapping = Array.from({ length: content.length }, (_, at) => content.startsWith(before, at)).filter(
          Boolean,
        ).length
        const outcome = await tool
          .call({ path: 'f.txt', old_string: before, new_string: after, replace_all: all })
          .then(
            ({ replacements }) => replacements, () => 'refused',
          )
        const goes = all ? found > 0 : overlapping === 1
        expect(outcome).toBe(goes ? found : 'refused')
        expect(await text()).toBe(goes ? content.split(before).join(after) : content)
      }),
      { numRuns: thoroughly(30, 150) },
    )
  })

  it('applies concurrent edits without losing any, and is atomic when cancelled', async () => {
    await tool.put('f.txt', Array.from({ length: 30 }, (_, i) => `<${i}>`).join('\n'))
    await Promise.all(
      Array.from({ length: 30 }, (_, i) => tool.call({ path: 'f.txt', old_string: `<${i}>`, new_string: `[${i}]` })),
    )
    expect(await text()).toBe(Array.from({ length: 30 }, (_, i) => `[${i}]`).join('\n'))
    const cancel = new AbortController()
    const editing = tool.call({ path: 'f.txt', old_string: '[0]', new_string: 'zero' }, cancel.signal)
    cancel.abort(new Error('enough'))
    await expect(editing).rejects.toThrow('enough')
    expect(await text()).toMatch(/^(?:\[0\]|zero)\n\[1\]/)
  })

  it('uses the file as its approval key', async () => {
    expect(await tool.key({ path: 'f.txt', old_string: 'a', new_string: 'b' })).toBe('f.txt')
  })
})
