import { appendFile, mkdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FileChange, FileReader, FileWatch } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { invocation, newSandbox, requestOf, running } from '../../../sandbox/test/fixture.ts'
import { temporaryFolder, toolOf } from '../fixture.ts'
import { CANARY, codeOf, openFs, put } from './setup.ts'

/** Reads changes until all of these are reported. Others are ignored. */
async function until(watch: FileWatch, ...expected: readonly string[]): Promise<FileChange[]> {
  const missing = new Set(expected)
  const seen: FileChange[] = []
  for (const reader = watch[Symbol.asyncIterator](); missing.size > 0;) {
    const { value } = await reader.next() as { value: FileChange }
    seen.push(value)
    missing.delete(`${value.change} ${value.path}`)
  }
  return seen
}

async function watching(fs: FileReader, path: string): Promise<FileWatch> {
  const watch = fs.watch(path)
  await watch.started
  return watch
}

describe('a watch', () => {
  it('reports created, changed and removed paths relative to the path of the tool', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, 'src/a.txt', 'src/deep/b.txt')
    const { fs } = openFs(workspace, { read: ['src/**'] })
    const watch = await watching(fs, './src/')
    await writeFile(join(workspace, 'src/new.txt'), '1')
    await until(watch, 'created src/new.txt')
    await appendFile(join(workspace, 'src/deep/b.txt'), '2')
    await until(watch, 'changed src/deep/b.txt')
    await unlink(join(workspace, 'src/a.txt'))
    await until(watch, 'removed src/a.txt')
  })

  it('watches new folders with their content, and stops watching removed ones', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, 'src/a.txt', 'aside/in/b.txt')
    const { fs } = openFs(workspace, { read: ['src/**'] })
    const watch = await watching(fs, 'src')
    await rename(join(workspace, 'aside'), join(workspace, 'src/came'))
    await until(watch, 'created src/came', 'created src/came/in', 'created src/came/in/b.txt')
    await writeFile(join(workspace, 'src/came/in/c.txt'), '')
    await until(watch, 'created src/came/in/c.txt')
    await rename(join(workspace, 'src/came'), join(workspace, 'aside'))
    await until(watch, 'removed src/came', 'removed src/came/in/b.txt', 'removed src/came/in/c.txt')
    // Later changes in it are not reported.
    await writeFile(join(workspace, 'aside/in/secret.txt'), '')
    await writeFile(join(workspace, 'src/last.txt'), '')
    expect((await until(watch, 'created src/last.txt')).map(({ path }) => path)).toEqual(['src/last.txt'])
  })

  it('of a file reports only that file, even if it is replaced or does not exist yet', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, 'a.txt', 'b.txt')
    const { fs } = openFs(workspace, { read: ['a.txt', 'later.txt'] })
    const [watch, later] = [await watching(fs, 'a.txt'), await watching(fs, 'later.txt')]
    await writeFile(join(workspace, 'b.txt'), 'x')
    await rename(join(workspace, 'b.txt'), join(workspace, 'a.txt'))
    expect(await until(watch, 'changed a.txt')).toEqual([{ path: 'a.txt', change: 'changed' }])
    await writeFile(join(workspace, 'later.txt'), '')
    expect(await until(later, 'created later.txt')).toEqual([{ path: 'later.txt', change: 'created' }])
  })

  it('reports nothing outside the grant', async () => {
    const root = await temporaryFolder()
    await put(root, 'ws/src/a.ts', ['outside/canary.txt', CANARY])
    const workspace = join(root, 'ws')
    await symlink('../../outside', join(workspace, 'src/out'))
    const { fs } = openFs(workspace, { read: ['src/*.ts', 'src/sub/**'] })
    const watch = await watching(fs, 'src')
    await writeFile(join(workspace, 'src/private.key'), '')
    await mkdir(join(workspace, 'src/hidden'))
    await writeFile(join(workspace, 'src/hidden/x.ts'), '')
    await writeFile(join(root, 'outside/new.txt'), '')
    await symlink('../../outside/canary.txt', join(workspace, 'src/canary.ts'))
    await writeFile(join(workspace, 'src/z.ts'), '')
    expect((await until(watch, 'created src/z.ts')).map(({ path }) => path)).toEqual(['src/z.ts'])
    for (const path of ['src/out', 'src/hidden', '..', '/etc']) {
      expect(await codeOf(fs.watch(path).started), path).toBe('CapabilityDenied')
    }
    expect(await codeOf(fs.watch('src/sub/none/x').started)).toBe('NotFound')
  })

  it('reports writes of its own tool, without temporary files', async () => {
    const workspace = await temporaryFolder()
    const { fs } = openFs(workspace, { read: ['**'], write: ['**'] })
    const watch = await watching(fs, '.')
    await fs.write('a.txt', '1')
    expect((await until(watch, 'created a.txt')).map(({ path }) => path)).toEqual(['a.txt'])
    await fs.write('a.txt', '2')
    expect((await until(watch, 'changed a.txt')).map(({ path }) => path)).toEqual(['a.txt'])
  })

  it('stops watching a folder that is replaced by a link', async () => {
    const root = await temporaryFolder()
    await put(root, 'ws/src/sub/a.txt', ['outside/a.txt', CANARY], 'outside/canary.txt')
    const { fs } = openFs(join(root, 'ws'), { read: ['src/**'] })
    const watch = await watching(fs, 'src')
    await rename(join(root, 'ws/src/sub'), join(root, 'aside'))
    await symlink('../../outside', join(root, 'ws/src/sub'))
    await until(watch, 'removed src/sub/a.txt', 'removed src/sub')
    await writeFile(join(root, 'aside/b.txt'), '')
    await writeFile(join(root, 'outside/b.txt'), '')
    await writeFile(join(root, 'ws/src/end.txt'), '')
    expect((await until(watch, 'created src/end.txt')).map(({ path }) => path)).toEqual(['src/end.txt'])
  })

  it('ends with its call, for pending and later reads', async () => {
    const workspace = await temporaryFolder()
    const { fs, endCall, beside } = openFs(workspace, { read: ['**'] })
    const watch = await watching(fs, '.')
    const waiting = codeOf(watch[Symbol.asyncIterator]().next())
    // After this turn the request has been sent.
    await nextTurn()
    const other = beside()
    const beginning = codeOf(other.fs.watch('.').started)
    other.endCall()
    endCall()
    expect(await waiting).toBe('ToolCancelled')
    expect(await beginning).toBe('ToolCancelled')
  })

  it('holds nothing open after its call or compartment ends', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, 'a/b.txt', 'c/d.txt')
    const { fs, endCall, beside, close } = openFs(workspace, { read: ['**'] }, { watchLimits: { folders: 3 } })
    await watching(fs, '.')
    expect(await codeOf(beside().fs.watch('a').started)).toBe('ResourceBusy')
    endCall()
    const other = beside()
    const waiting = codeOf((await watching(other.fs, '.'))[Symbol.asyncIterator]().next())
    await nextTurn()
    await close()
    expect(await waiting).toBe('ToolCancelled')
  })

  it('releases its slot when the reader stops', async () => {
    const workspace = await temporaryFolder()
    const { fs } = openFs(workspace, { read: ['**'] }, { watchLimits: { watches: 1 } })
    const watch = await watching(fs, '.')
    expect(await codeOf(fs.watch('.').started)).toBe('ResourceBusy')
    await writeFile(join(workspace, 'a.txt'), '')
    for await (const { path } of watch) {
      expect(path).toBe('a.txt')
      break
    }
    await watching(fs, '.')
  })

  it.each([
    ['folders', { folders: 2 }, 'ResourceBusy'], ['names', { names: 2 }, 'OutputTooLarge'],
    ['depth', { depth: 1 }, 'OutputTooLarge'],
  ] as const)('does not start beyond its limit of %s, and releases its slots', async (_, watchLimits, code) => {
    const workspace = await temporaryFolder()
    await put(workspace, 'a/b/c.txt', 'small/x.txt')
    const { fs } = openFs(workspace, { read: ['**'] }, { watchLimits: { watches: 1, ...watchLimits } })
    expect(await codeOf(fs.watch('.').started)).toBe(code)
    await watching(fs, 'small')
  })

  it('fails with too many unread changes', async () => {
    const workspace = await temporaryFolder()
    const { fs } = openFs(workspace, { read: ['**'] }, { watchLimits: { changes: 3 } })
    const watch = await watching(fs, '.')
    for (let index = 0; index < 40; index++) await writeFile(join(workspace, `${index}.txt`), '')
    const read = async (): Promise<void> => {
      for await (const change of watch) expect(change.change).toBe('created')
    }
    // Reading starts after all changes.
    const control = await watching(openFs(workspace, { read: ['**'] }).fs, '.')
    await writeFile(join(workspace, 'end.txt'), '')
    await until(control, 'created end.txt')
    expect(await codeOf(read())).toBe('OutputTooLarge')
  })

  it('reports everything in its folder as removed when the folder is removed', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, 'src/a.txt', 'src/deep/b.txt')
    const { fs } = openFs(workspace, { read: ['src/**'] })
    const watch = await watching(fs, 'src')
    await rm(join(workspace, 'src'), { recursive: true })
    await until(watch, 'removed src/a.txt', 'removed src/deep/b.txt', 'removed src/deep')
  })
})

describe('in a compartment', () => {
  it('lets a tool watch, read and stop', async () => {
    const workspace = await temporaryFolder()
    const source = running(`
      const watch = runtime.fs.watch('.')
      await watch.started
      await runtime.fs.write('a.txt', 'x')
      for await (const change of watch) return change
    `)
    const tools = [toolOf('run', { fs: { read: ['**'], write: ['**'] } }, workspace)]
    const session = await newSandbox(workspace).open(requestOf({ placement: 'thread', source, tools }))
    expect(await session.call(invocation())).toEqual({ path: 'a.txt', change: 'created' })
    expect(await session.call(invocation())).toEqual({ path: 'a.txt', change: 'changed' })
  })
})
