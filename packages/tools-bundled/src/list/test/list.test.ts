import { linkSync, mkdirSync, symlinkSync } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { LONG, ONLY_IN_SOAK } from '../../../../../scripts/thoroughly.ts'
import { toolSession } from '../../../test/tool-session.ts'

const { call, refusal, put, key, workspace } = toolSession('list')
beforeAll(async () => {
  await put('src/a.ts', 'let a\n')
  await put('src/deep/b.ts', 'b')
  await put('out/made.js', 'x')
  await put('.gitignore', 'out\n*.log\n')
  await put('.git/config', '')
  await put('now.log', '')
  await mkdir(join(workspace, 'empty'))
  await symlink('src', join(workspace, 'link'))
})

describe('list', () => {
  it('shows what is in a folder, with kinds and sizes, and marks what is ignored', async () => {
    expect(await call({})).toEqual({
      path: '.',
      entries: [
        { path: '.git', kind: 'directory', ignored: true }, { path: '.gitignore', kind: 'file', size: 10 },
        { path: 'empty', kind: 'directory' }, { path: 'link', kind: 'other' },
        { path: 'now.log', kind: 'file', size: 0, ignored: true }, { path: 'out', kind: 'directory', ignored: true },
        { path: 'src', kind: 'directory' },
      ],
    })
  })

  it('opens folders up to the depth, but not those that are ignored', async () => {
    const paths = async (args: object) =>
      ((await call({ ...args })).entries as unknown as { path: string }[]).map(({ path }) => path)
    expect(await paths({ depth: 2 })).toEqual([
      '.git', '.gitignore', 'empty', 'link', 'now.log', 'out', 'src', 'src/a.ts', 'src/deep',
    ])
    expect(await paths({ path: 'src', depth: 10 })).toEqual(['a.ts', 'deep', 'deep/b.ts'])
    expect(await paths({ path: `${workspace}/./src/` })).toEqual(['a.ts', 'deep'])
    expect(await paths({ path: 'out' })).toEqual(['made.js'])
  })

  it('refuses what is not a folder of the workspace', async () => {
    expect((await refusal({ path: '..' })).code).toBe('CapabilityDenied')
    expect((await refusal({ path: 'none' })).code).toBe('NotFound')
    expect((await refusal({ path: 'src/a.ts' })).code).toBe('NotFound')
    expect((await refusal({ path: '~' })).code).toBe('InputInvalid')
  })

  it('cuts a long listing below the upper levels', LONG, async () => {
    await put('many/z')
    mkdirSync(join(workspace, 'many/a'))
    // Links are much cheaper than files.
    for (let index = 0; index < 1_100; index++)
      linkSync(join(workspace, 'many/z'), join(workspace, 'many/a', String(index)))
    const { entries, incomplete } = await call({ path: 'many', depth: 2 })
    expect(incomplete).toBe(true)
    expect(entries).toHaveLength(1_000)
    expect(entries).toContainEqual({ path: 'z', kind: 'file', size: 0 })
  })

  it('shows a part of a folder with too many entries, and says so', ONLY_IN_SOAK, async () => {
    mkdirSync(join(workspace, 'huge/all'), { recursive: true })
    for (let index = 0; index <= 10_000; index++) symlinkSync('x', join(workspace, 'huge/all', String(index)))
    await put('huge/all/file')
    expect(await call({ path: 'huge/all' })).toEqual({
      path: 'huge/all', entries: [{ path: 'file', kind: 'file', size: 0 }], incomplete: true,
    })
    expect(await call({ path: 'huge', depth: 2 })).toMatchObject({
      entries: [{ path: 'all' }, { path: 'all/file' }], incomplete: true,
    })
    expect(await call({ path: 'huge' })).toEqual({ path: 'huge', entries: [{ path: 'all', kind: 'directory' }] })
  })

  it('has the folder as its approval key', async () => {
    expect([await key({}), await key({ path: 'src/deep/' })]).toEqual(['.', 'src/deep'])
  })
})
