import { chmod, rename, symlink, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../../scripts/thoroughly.ts'
import { toolSession } from '../../../test/tool-session.ts'

describe('grep', () => {
  const tool = toolSession('grep')

  it('finds lines, files and counts', async () => {
    await tool.put('g/a.ts', 'import x\nconst a = 1\n')
    await tool.put('g/b.py', 'import os\nimport sys\n')
    expect(await tool.call({ pattern: '^import', path: 'g' })).toEqual({
      matches: [
        { path: 'g/a.ts', line: 1, text: 'import x' }, { path: 'g/b.py', line: 1, text: 'import os' },
        { path: 'g/b.py', line: 2, text: 'import sys' },
      ],
      total: 3,
    })
    expect(await tool.call({ pattern: '^import', path: 'g', output_mode: 'files' })).toEqual({
      files: ['g/a.ts', 'g/b.py'],
      total: 2,
    })
    expect(await tool.call({ pattern: '^import', path: 'g', output_mode: 'count' }))
      .toEqual({ counts: [{ path: 'g/a.ts', count: 1 }, { path: 'g/b.py', count: 2 }], total: 3 })
    expect(await tool.call({ pattern: 'IMPORT', path: 'g', ignore_case: true, type: 'py', context: 1 })).toEqual({
      matches: [
        { path: 'g/b.py', line: 1, text: 'import os', after: ['import sys'] },
        { path: 'g/b.py', line: 2, text: 'import sys', before: ['import os'] },
      ],
      total: 2,
    })
    expect(await tool.call({ pattern: 'x\\nconst', path: 'g', multiline: true, glob: '*.ts' }))
      .toEqual({ matches: [{ path: 'g/a.ts', line: 1, text: 'import x\nconst a = 1' }], total: 1 })
  })

  it('finds matches next to a sparse 1 GB file, a cyclic link and an unreadable folder', async () => {
    await tool.put('odd/huge')
    await truncate(join(tool.workspace, 'odd/huge'), 1024 ** 3)
    await tool.put('odd/locked/a', 'needle')
    await chmod(join(tool.workspace, 'odd/locked'), 0)
    await symlink('.', join(tool.workspace, 'odd/self'))
    await symlink('/etc', join(tool.workspace, 'odd/etc'))
    await tool.put('odd/crlf', 'a needle\r\n')
    const { matches } = await tool.call({ pattern: 'needle$', path: 'odd', glob: '{crlf,huge}' })
    await chmod(join(tool.workspace, 'odd/locked'), 0o700)
    expect(matches).toEqual([{ path: 'odd/crlf', line: 1, text: 'a needle' }])
  })

  it('reports how many files it could not read, and searches the rest', async () => {
    // A path longer than PATH_MAX cannot be read.
    const half = Array.from({ length: 11 }, () => 'n'.repeat(200)).join('/')
    await tool.put('far/near.txt', 'a needle')
    await tool.put(`far/${half}/empty`)
    await tool.put(`rest/${half}/deep.txt`, 'a needle')
    const [rest, deep] = [join(tool.workspace, 'rest'), join(tool.workspace, 'far', half, 'rest')]
    await rename(rest, deep)
    const found = await tool.call({ pattern: 'needle', path: 'far' })
    const counted = await tool.call({ pattern: 'needle', path: 'far', output_mode: 'count' })
    await rename(deep, rest)
    expect(found).toEqual({ matches: [{ path: 'far/near.txt', line: 1, text: 'a needle' }], total: 1, unread: 1 })
    expect(counted).toMatchObject({ total: 1, unread: 1 })
  })

  it.each([
    ['an invalid expression', { pattern: '[' }, 'InputInvalid', /unclosed/],
    ['an unknown type', { pattern: 'a', type: 'klingon' }, 'InputInvalid', /type/],
    ['a folder outside the workspace', { pattern: 'a', path: '/etc' }, 'CapabilityDenied', /outside/],
    ['a missing folder', { pattern: 'a', path: 'none' }, 'NotFound', /none/],
    ['an option as a type', { pattern: 'a', type: 'ts --pre=sh' }, 'InputInvalid', /type/],
  ])('refuses %s', async (_, args, code, message) => {
    expect(await tool.refusal(args)).toMatchObject({ code, message: expect.stringMatching(message) })
  })

  it('finds the same lines as reading every file of random trees', async () => {
    const line = fc.constantFrom('a', 'ab', 'b a', '', 'é', 'xab')
    const file = fc.array(line, { maxLength: 6 })
    const pattern = fc.constantFrom('a', '^a', 'b$', 'a|é', '[xé]', '.', '^$', 'ab?')
    await fc.assert(
      fc.asyncProperty(
        fc.array(file, { minLength: 1, maxLength: 6 }), pattern, fc.boolean(),
        async (files, text, crlf) => {
          const end = crlf ? '\r\n' : '\n'
          for (const [index, lines] of Array.from({ length: 6 }, (_, i) => files[i] ?? []).entries()) {
            await tool.put(`random/d${index % 2}/f${index}`, lines.map((one) => one + end).join(''))
          }
          const expected = files
            .flatMap((lines, index) =>
              lines.flatMap((one, at) =>
                new RegExp(text, 'u').test(one)
                  ? [{ path: `random/d${index % 2}/f${index}`, line: at + 1, text: one }]
                  : [],
              ),
            )
            .toSorted((one, other) =>
              one.path === other.path ? one.line - other.line : one.path < other.path ? -1 : 1,
            )
          expect(await tool.call({ pattern: text, path: 'random' }), text).toEqual({
            matches: expected, total: expected.length,
          })
        },
      ),
      { numRuns: thoroughly(6, 40) },
    )
  })

  it('returns at most 10 000 matches, and how many there are', LONG, async () => {
    await tool.put('many', 'x\n'.repeat(10_001))
    const found = await tool.call({ pattern: 'x', path: 'many' })
    expect([found['total'], found['matches']]).toMatchObject([10_001, { length: 10_000 }])
  })

  it('stops when the call is cancelled', async () => {
    await tool.put('slow')
    await truncate(join(tool.workspace, 'slow'), 256 * 1024 ** 3)
    const cancel = new AbortController()
    const searching = tool.call({ pattern: 'needle', path: 'slow' }, cancel.signal)
    cancel.abort(new Error('enough'))
    await expect(searching).rejects.toThrow('enough')
  })

  it('uses the searched folder as its approval key', async () => {
    expect(await tool.key({ pattern: 'a' })).toBe('.')
    expect(await tool.key({ pattern: 'a', path: './src/' })).toBe('src')
  })
})
