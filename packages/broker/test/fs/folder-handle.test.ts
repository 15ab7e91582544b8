import type { FileHandle } from 'node:fs/promises'
import { linkSync } from 'node:fs'
import { open, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ONLY_IN_SOAK } from '../../../../scripts/thoroughly.ts'
import { FileScope } from '../../src/fs/file-scope.ts'
import { openByDescriptor, openByPath, type FolderHandle } from '../../src/fs/disk.ts'
import { listFolder, readFile, statFile } from '../../src/fs/read-file.ts'
import { editFile } from '../../src/fs/edit-file.ts'
import { removeFile, writeFile } from '../../src/fs/write-file.ts'
import { temporaryFolder } from '../fixture.ts'
import { CANARY, codeOf, put } from './setup.ts'

async function setUp() {
  const root = await temporaryFolder()
  await put(root, ['ws/docs/a.txt', 'inside'], ['outside/a.txt', CANARY])
  return { root, docs: join(root, 'ws/docs'), outside: join(root, 'outside') }
}

const closing = (handle: FileHandle): FileHandle => {
  onTestFinished(() => handle.close())
  return handle
}

describe.each(
  [['by descriptor', openByDescriptor], ['by path', openByPath]] as const,
)('a folder opened %s', (_, opening) => {
  it('supports all file operations', async () => {
    const { root } = await setUp()
    const scope = new FileScope('fs.write', [join(root, 'ws/docs')], join(root, 'ws'), { openFolder: opening })
    const at = (path: string) => scope.locate(path)
    expect(await writeFile(scope, await at('docs/new/b.txt'), Buffer.from('one'), UNRECORDED))
      .toEqual({ bytes: 3, created: true })
    const edit = { before: 'one', after: 'two', all: false }
    expect(await editFile(scope, await at('docs/new/b.txt'), edit, { before: UNRECORDED }))
      .toMatchObject({ replacements: 1 })
    expect((await readFile(scope, await at('docs/new/b.txt'), {})).toString()).toBe('two')
    const listed = await listFolder(scope, await at('docs'))
    expect(listed).toEqual([{ name: 'a.txt', kind: 'file' }, { name: 'new', kind: 'directory' }])
    expect(await statFile(scope, await at('docs/new'))).toMatchObject({ kind: 'directory' })
    await removeFile(scope, await at('docs/new/b.txt'), UNRECORDED)
    await removeFile(scope, await at('docs/new'), UNRECORDED)
    expect(await codeOf(statFile(scope, await at('docs/new')))).toBe('NotFound')
  })

  it('is rejected if its last component is a link', async () => {
    const { docs, outside } = await setUp()
    await symlink(outside, join(docs, 'link'))
    expect(await codeOf(opening(join(docs, 'link')))).toMatch(/ENOTDIR|ELOOP/)
    expect(await codeOf(opening(join(docs, 'a.txt')))).toBe('ENOTDIR')
    const held = await opening(docs)
    expect(await codeOf(held.child('link'))).toMatch(/ENOTDIR|ELOOP/)
    await held.release()
  })

  it('reports its real path when a parent is a link', async () => {
    const { root, docs } = await setUp()
    await symlink('ws', join(root, 'alias'))
    const held = await opening(join(root, 'alias/docs'))
    expect(held.where).toBe(docs)
    await held.release()
  })
})

const UNRECORDED = { record: undefined }

describe('a folder held by descriptor', () => {
  it('stays the checked folder if a link replaces its name', async () => {
    const { docs, outside } = await setUp()
    const held = await openByDescriptor(docs)
    await rename(docs, `${docs}-aside`)
    await symlink(outside, docs)
    const handle = closing(await open(held.at('a.txt')))
    expect(await handle.readFile('utf8')).toBe('inside')
    await held.release()
  })
})

describe('a folder held by path', () => {
  it('detects that its path was replaced', async () => {
    const { docs, outside } = await setUp()
    const held = await openByPath(docs)
    const path = held.at('a.txt')
    const handle = closing(await open(path))
    expect(await held.holds(handle, path)).toBe(true)
    await rename(docs, `${docs}-aside`)
    await symlink(outside, docs)
    expect(await held.holds(handle, path)).toBe(false)
  })

  it('is left by a read if it is replaced after the file was opened', async () => {
    const { docs, outside } = await setUp()
    const openFolder = async (path: string): Promise<FolderHandle> => {
      const held = await openByPath(path)
      return { ...held, async holds(handle, file) {
        await rename(docs, `${docs}-aside`)
        await symlink(outside, docs)
        return held.holds(handle, file)
      } }
    }
    const scope = new FileScope('fs.read', [docs], docs, { openFolder })
    await expect(readFile(scope, await scope.locate('a.txt'), {})).rejects.toMatchObject({ code: 'CapabilityDenied' })
  })
})

it('a folder of more than 10,000 entries is not listed', ONLY_IN_SOAK, async () => {
  const { docs } = await setUp()
  const scope = new FileScope('fs.read', [docs], docs)
  for (let index = 1; index < 10_000; index++) linkSync(join(docs, 'a.txt'), join(docs, `f${index}`))
  expect(await listFolder(scope, await scope.locate('.'))).toHaveLength(10_000)
  linkSync(join(docs, 'a.txt'), join(docs, 'one-more'))
  await expect(listFolder(scope, await scope.locate('.'))).rejects.toMatchObject({ code: 'OutputTooLarge' })
})
