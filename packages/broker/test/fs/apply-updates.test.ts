import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileUpdate } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { describe, expect, it } from 'vitest'
import { recoverUpdates } from '../../src/fs/update-journal.ts'
import { readUpdates } from '../../src/fs/update-request.ts'
import { temporaryFolder } from '../fixture.ts'
import { codeOf, openFs, put } from './setup.ts'

const all = { read: ['**'], write: ['**'] }

/** Every file below a folder, with its content. Not with the option `recursive`, which may follow links. */
async function tree(folder: string, below = ''): Promise<Record<string, string>> {
  const files: Record<string, string> = {}
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    const path = join(below, entry.name)
    if (entry.isFile()) files[path] = await readFile(join(folder, path), 'utf8')
    else if (entry.isDirectory()) Object.assign(files, await tree(folder, path))
  }
  return files
}

async function workspaceWith(...files: readonly (readonly [string, string])[]) {
  const root = await temporaryFolder()
  const [workspace, journal] = [join(root, 'workspace'), join(root, 'journal')]
  await mkdir(workspace)
  await put(workspace, ...files)
  return { workspace, journal, ...openFs(workspace, all, { journal }) }
}

const CHANGES: readonly FileUpdate[] = [
  { path: 'a.txt', before: 'a', after: 'A' }, { path: 'new/deep/b.txt', before: null, after: 'B' },
  { path: 'c.txt', before: 'c', after: null },
]
const AFTER = { 'a.txt': 'A', 'new/deep/b.txt': 'B' }

describe('applying updates to several files', () => {
  it('changes, creates and removes them, and leaves no other file', async () => {
    const { fs, workspace, journal } = await workspaceWith(['a.txt', 'a'], ['c.txt', 'c'])
    await chmod(join(workspace, 'c.txt'), 0o755)
    expect(await fs.apply(CHANGES)).toEqual([
      { wasExecutable: false }, { wasExecutable: false }, { wasExecutable: true },
    ])
    expect(await tree(workspace)).toEqual(AFTER)
    expect(await readdir(journal)).toEqual([])
  })

  it('keeps permissions, takes those of another file, and sets the permission to execute', async () => {
    const { fs, workspace } = await workspaceWith(['a', '1'], ['b', '2'], ['c', '3'])
    await chmod(join(workspace, 'a'), 0o640)
    await chmod(join(workspace, 'b'), 0o751)
    await fs.apply([
      { path: 'a', before: '1', after: 'x', executable: true }, { path: 'b', before: '2', after: null },
      { path: 'b2', before: null, after: '2', like: 'b' }, { path: 'c', before: '3', after: '3', executable: false },
    ])
    const modes = await Promise.all(
      ['a', 'b2', 'c'].map(async (name) => (await stat(join(workspace, name))).mode & 0o777),
    )
    expect(modes).toEqual([0o750, 0o751, 0o644])
  })

  it.each<[string, FileUpdate, string]>([
    ['has other content', { path: 'd.txt', before: 'x', after: 'y' }, 'InputInvalid'],
    ['exists', { path: 'd.txt', before: null, after: 'y' }, 'InputInvalid'],
    ['does not exist', { path: 'none.txt', before: 'x', after: 'y' }, 'InputInvalid'],
    ['is outside', { path: '../d.txt', before: null, after: 'y' }, 'CapabilityDenied'],
    ['is protected', { path: '.git/config', before: null, after: 'y' }, 'CapabilityDenied'],
    ['is a link', { path: 'link', before: 'd', after: 'y' }, 'InputInvalid'],
    ['is behind a link', { path: 'out/x', before: null, after: 'y' }, 'CapabilityDenied'],
    ['is a folder', { path: 'folder', before: null, after: 'y' }, 'InputInvalid'],
    ['is below a file', { path: 'd.txt/x', before: null, after: 'y' }, 'NotFound'],
    ['is named twice', { path: './a.txt', before: 'a', after: 'y' }, 'InputInvalid'],
    ['is below another one', { path: 'a.txt/x', before: null, after: 'y' }, 'InputInvalid'],
    ['has no content', { path: 'e.txt', before: null, after: null }, 'InputInvalid'],
  ])('changes nothing if one of them %s', async (_, update, code) => {
    const { fs, workspace, journal } = await workspaceWith(
      ['a.txt', 'a'], ['c.txt', 'c'], ['d.txt', 'd'], ['folder/x', 'x'],
    )
    await symlink('d.txt', join(workspace, 'link'))
    await symlink('..', join(workspace, 'out'))
    const before = await tree(workspace)
    expect(await codeOf(fs.apply([...CHANGES, update]))).toBe(code)
    expect(await tree(workspace)).toEqual(before)
    expect((await readdir(workspace)).includes('new')).toBe(false)
    expect(await readdir(journal).catch(() => [])).toEqual([])
  })

  it('needs the right to read the files that exist', async () => {
    const { workspace } = await workspaceWith(['a.txt', 'a'])
    const { fs } = openFs(workspace, { read: ['docs/**'], write: ['**'] })
    expect(await codeOf(fs.apply([{ path: 'a.txt', before: 'a', after: 'b' }]))).toBe('CapabilityDenied')
    expect(await codeOf(fs.apply([{ path: 'b.txt', before: null, after: 'b' }]))).toMatch(/^not refused/)
  })

  it('loses no change when many run at once', async () => {
    const { fs, workspace } = await workspaceWith(['a', '0'], ['b', '0'])
    const step = async (): Promise<void> => {
      for (;;) {
        const [a, b] = [await fs.readText('a'), await fs.readText('b')]
        const next = (text: string): string => String(Number(text) + 1)
        const updates = [{ path: 'b', before: b, after: next(b) }, { path: 'a', before: a, after: next(a) }]
        const outcome = await codeOf(fs.apply(updates))
        if (outcome !== 'InputInvalid') return
      }
    }
    await Promise.all(Array.from({ length: 8 }, step))
    expect(await tree(workspace)).toEqual({ a: '8', b: '8' })
  })

  it.each<[Json]>([
    ['x'], [[1]], [[{ path: 'a/', before: null, after: ['text', 'x'] }]], [[{ path: 'a', before: 1, after: null }]],
    [[{ path: 'a', before: null, after: ['text', 'x'], like: 1 }]], [[{ path: 'a', before: null, after: ['text'] }]],
    [[{ path: 'a', before: null, after: ['text', 'x'], executable: 1 }]], [Array<Json>(1_001).fill(null)],
  ])('refuses a list of another form: %j', (updates) => {
    expect(() => readUpdates(updates)).toThrow(expect.objectContaining({ code: 'InputInvalid' }))
  })
})

describe('the next host after one that was killed', () => {
  it('does not touch what has changed since, nor what a live host writes', async () => {
    const { workspace, journal } = await workspaceWith(['a.txt', 'mine'], ['c.txt', 'c'])
    const staged = '.bulkhead-00000000-0000-4000-8000-000000000000.tmp'
    await put(workspace, [staged, 'A'])
    const entries = [
      { folder: workspace, name: 'a.txt', temporary: staged, before: '0'.repeat(64) },
      { folder: workspace, name: 'c.txt', temporary: null, before: '0'.repeat(64) },
      { folder: join(workspace, 'gone'), name: 'x', temporary: null, before: null },
      { folder: workspace, name: 'c.txt', temporary: 'a.txt', before: null },
    ]
    await mkdir(journal)
    const started = /\) (?:\S+ ){19}(\d+)/.exec(await readFile('/proc/self/stat', 'utf8'))?.[1] ?? ''
    const live = `${process.pid}-${started}-x.committed`
    await writeFile(join(journal, live), JSON.stringify(entries))
    await recoverUpdates(journal)
    expect(await readdir(journal)).toEqual([live])
    await rm(join(journal, live))
    await writeFile(join(journal, '999999999-1-x.committed'), JSON.stringify(entries))
    await writeFile(join(journal, '999999999-2-x.planned'), '[{"fold')
    await recoverUpdates(journal)
    expect(await tree(workspace)).toEqual({ 'a.txt': 'mine', 'c.txt': 'c' })
    expect(await readdir(journal)).toEqual([])
    // Unlike one that is cut short before it is committed, it may name changes that are half done.
    await writeFile(join(journal, '999999999-3-x.committed'), '[{"fold')
    await recoverUpdates(journal)
    expect(await readdir(journal)).toEqual(['999999999-3-x.committed'])
  })
})
