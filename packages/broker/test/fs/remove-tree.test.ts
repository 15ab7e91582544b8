import { execFileSync } from 'node:child_process'
import { lstat, mkdir, readdir, readFile, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileReplacement } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { folderOpener, openByPath, type FolderHandle } from '../../src/fs/disk.ts'
import { FileScope } from '../../src/fs/file-scope.ts'
import { removeTree } from '../../src/fs/remove-tree.ts'
import { temporaryFolder } from '../fixture.ts'
import { CANARY, codeOf, openFs, put, setUp } from './setup.ts'

const ALL = { recursive: true } as const

describe('removing a folder with everything in it', () => {
  it('removes the links in it and leaves alone what they lead to', async () => {
    const { root, workspace, outside } = await setUp()
    await put(workspace, 'other/b.txt')
    await symlink('../other', join(workspace, 'docs', 'inner'))
    const { fs } = openFs(workspace, { write: ['**'] })
    await fs.remove('docs', ALL)
    expect(await readdir(workspace)).toEqual(['other', 'root.txt'])
    expect(await readdir(join(workspace, 'other'))).toEqual(['b.txt'])
    expect([await readdir(outside), await readdir(join(root, 'workspace-other'))]).toEqual([
      ['secret.txt'], ['secret.txt'],
    ])
  })

  it('removes a link itself, wherever it leads, and not through another link', async () => {
    const { workspace, outside } = await setUp()
    const { fs } = openFs(workspace, { write: ['docs/**'] })
    const links = ['folder-link', 'file-link', 'chain', 'good-link', 'good-folder/', 'dangling', 'loop', 'proc']
    for (const name of links) await fs.remove(`docs/${name}`, ALL)
    expect((await readdir(join(workspace, 'docs'))).toSorted()).toEqual(['a.md', 'deep'])
    await symlink(outside, join(workspace, 'docs', 'folder-link'))
    expect(await codeOf(fs.remove('docs/folder-link/secret.txt', ALL))).toBe('CapabilityDenied')
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe(CANARY)
  })

  it('stops at what the grant does not cover, at roots and at special files', async () => {
    const { workspace } = await setUp()
    await put(workspace, 'site/.git/hooks/commit', 'site/index.html', 'mixed/a.tmp', 'mixed/b.txt', 'pipes/c.txt')
    execFileSync('mkfifo', [join(workspace, 'pipes', 'pipe')])
    const { fs } = openFs(workspace, { write: ['site', 'mixed/*.tmp', 'pipes'] })
    for (const path of ['.', '..', 'docs', 'site', 'mixed']) {
      expect(await codeOf(fs.remove(path, ALL)), path).toBe('CapabilityDenied')
    }
    await expect(fs.remove('site', ALL)).rejects.toThrow('"site" contains something that the tool may not write')
    expect(await codeOf(fs.remove('pipes', ALL))).toBe('InputInvalid')
    expect(await codeOf(fs.remove('site/none', ALL))).toBe('NotFound')
    expect(await readdir(join(workspace, 'site', '.git', 'hooks'))).toEqual(['commit'])
    expect(await readdir(join(workspace, 'mixed'))).toContain('b.txt')
    expect(await readdir(join(workspace, 'docs'))).toContain('a.md')
  })

  it('refuses folders that are nested too deeply, and stops when its call ends', LONG, async () => {
    const workspace = await temporaryFolder()
    const deep = Array.from({ length: 300 }, () => 'd').join('/')
    await mkdir(join(workspace, 'out', deep), { recursive: true })
    await put(workspace, 'many/a.txt')
    const { fs, call } = openFs(workspace, { write: ['**'] })
    expect(await codeOf(fs.remove('out', ALL))).toBe('InputInvalid')
    call.abort()
    expect(await codeOf(fs.remove('many', ALL))).toBe('ToolCancelled')
    expect(await readdir(join(workspace, 'many'))).toEqual(['a.txt'])
  })

  it('records every file, folder and link before it is removed', async () => {
    const { workspace } = await setUp()
    await put(workspace, ['tree/sub/a.txt', 'text'])
    await symlink('sub', join(workspace, 'tree', 'link'))
    const recorded: FileReplacement[] = []
    const file = async (_callId: string, change: FileReplacement): Promise<void> => {
      await lstat(change.path)
      recorded.push(change)
    }
    const none = async (): Promise<never> => expect.fail('This only removes.')
    const { fs } = openFs(workspace, { write: ['**'] }, { changes: { file, command: none, undone: none } })
    await fs.remove('tree', ALL)
    const states = recorded.map(({ path, before, after }) => [
      path.slice(workspace.length + 1), before.kind, after.kind,
    ])
    expect(states.toSorted()).toEqual([
      ['tree', 'folder', 'absent'], ['tree/link', 'link', 'absent'], ['tree/sub', 'folder', 'absent'],
      ['tree/sub/a.txt', 'file', 'absent'],
    ])
    expect(recorded.find(({ path }) => path.endsWith('link'))?.before).toEqual({ kind: 'link', target: 'sub' })
  })
})

it.each([folderOpener(process.platform), openByPath])(
  'does not follow a folder that is replaced by a link between its check and its opening (%o)', async (open) => {
    const root = await temporaryFolder()
    await put(root, ['tree/sub/f.txt', ''], ['kept/f.txt', CANARY])
    const swapping = (folder: FolderHandle): FolderHandle => ({
      ...folder,
      async child(name) {
        await rename(folder.at(name), join(root, 'aside'))
        await symlink(join(root, 'kept'), folder.at(name))
        return folder.child(name)
      },
    })
    const scope = new FileScope('fs.write', [join(root, '**')], root, {
      openFolder: async (path) => swapping(await open(path)),
    })
    expect(['NotFound', 'CapabilityDenied'])
      .toContain(await codeOf(removeTree(scope, 'tree', { record: undefined }, new AbortController().signal)))
    expect(await readdir(join(root, 'kept'))).toEqual(['f.txt'])
  })
