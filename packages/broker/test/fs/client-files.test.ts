import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClientCall, WorkspaceClient } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { temporaryFolder } from '../fixture.ts'
import { CANARY, codeOf, openFs, put, setUp } from './setup.ts'

/** Has these texts by name, and keeps what it is asked. */
class Client implements WorkspaceClient {
  readonly asked: string[] = []
  readonly #texts: Map<string, string | Error>

  constructor(texts: Readonly<Record<string, string | Error>> = {}) {
    this.#texts = new Map(Object.entries(texts))
  }

  async readText(path: string, { signal }: ClientCall): Promise<string | undefined> {
    this.asked.push(`read ${path}`)
    signal.throwIfAborted()
    const text = this.#texts.get(path.split('/').at(-1)!)
    if (text instanceof Error) throw text
    return text
  }

  async writeText(path: string, text: string): Promise<void> {
    this.asked.push(`write ${path}`)
    writeFileSync(path, text)
  }
}

const ALL = { read: ['**'], write: ['**'] }
const open = (workspace: string, client: WorkspaceClient | undefined) =>
  openFs(workspace, ALL, { clientOf: () => client })

describe('the files of a client', () => {
  it('come before those of the disk, with one text for all requests of a call', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, ['a.txt', 'disk'])
    const client = new Client({ 'a.txt': 'of the client' })
    const { fs, endCall, beside } = open(workspace, client)
    expect(await fs.readText('a.txt')).toBe('of the client')
    expect(await fs.readText('a.txt', { start: 3, end: 6 })).toBe('the')
    expect(await fs.stat('a.txt')).toMatchObject({ kind: 'file', size: 13 })
    expect(client.asked).toEqual([`read ${join(workspace, 'a.txt')}`])
    endCall()
    expect(await beside().fs.readText('a.txt')).toBe('of the client')
    expect(client.asked).toHaveLength(2)
  })

  it('are those of the disk if the client has none, or the session has no client', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, ['a.txt', 'disk'])
    for (const client of [new Client(), {}, undefined]) {
      expect(await open(workspace, client).fs.readText('a.txt')).toBe('disk')
    }
    expect(await codeOf(open(workspace, new Client()).fs.readText('none.txt'))).toBe('NotFound')
    expect(await codeOf(open(workspace, new Client({ 'none.txt': new Error('gone') })).fs.readText('none.txt'))).toBe(
      'NotFound',
    )
  })

  it('fail with the reason of the client', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, ['a.txt', 'disk'])
    await expect(
      open(workspace, new Client({ 'a.txt': new Error('the editor is closed') })).fs.readText('a.txt'),
    ).rejects.toMatchObject({
      code: 'ToolExecutionFailed', message: 'The client could not read "a.txt": the editor is closed',
    })
    const long = new Client({ 'a.txt': 'x'.repeat(8 * 1024 * 1024 + 1) })
    expect(await codeOf(open(workspace, long).fs.readText('a.txt'))).toBe('OutputTooLarge')
  })

  it('are written as text, and bytes go to the disk', async () => {
    const workspace = await temporaryFolder()
    const client = new Client()
    const { fs } = open(workspace, client)
    expect(await fs.write('deep/a.txt', 'text')).toEqual({ bytes: 4, created: true })
    expect(await fs.write('b.bin', new Uint8Array([1, 0, 2]))).toEqual({ bytes: 3, created: true })
    expect(await fs.readText('deep/a.txt')).toBe('text')
    expect(client.asked.filter((line) => line.startsWith('write'))).toEqual([`write ${join(workspace, 'deep/a.txt')}`])
  })

  it('are not written if they are too long', async () => {
    const workspace = await temporaryFolder()
    const client = new Client()
    const { fs } = open(workspace, client)
    expect(await codeOf(fs.write('a.txt', 'x'.repeat(8 * 1024 * 1024 + 1)))).toBe('InputInvalid')
    expect(client.asked).toEqual([])
  })

  it('are asked for again if a call has read many others since', LONG, async () => {
    const workspace = await temporaryFolder()
    const names = Array.from({ length: 65 }, (_, index) => `f${index}`)
    await put(workspace, ...names)
    const client = new Client(Object.fromEntries(names.map((name) => [name, 'text'])))
    const { fs } = open(workspace, client)
    for (const name of [...names, 'f64', 'f0', 'f64']) await fs.readText(name)
    expect(client.asked.map((line) => line.split('/').at(-1))).toEqual([...names, 'f0'])
  })

  it('are edited as the client has them', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, ['a.txt', 'one'])
    expect(await open(workspace, new Client({ 'a.txt': 'one two' })).fs.edit('a.txt', 'two', '2')).toMatchObject({
      replacements: 1,
    })
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('one 2')
  })

  it('are updated together as the client has them, and put back if one fails', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, ['a.txt', 'one'], ['b.txt', 'disk'])
    const client = new Client({ 'a.txt': 'one two', 'unsaved.txt': 'draft' })
    const { fs } = open(workspace, client)
    await fs.apply([
      { path: 'a.txt', before: 'one two', after: '1' }, { path: 'b.txt', before: 'disk', after: null },
      { path: 'unsaved.txt', before: 'draft', after: 'final' }, { path: 'new/c.txt', before: null, after: 'c' },
    ])
    const text = (path: string) => readFileSync(join(workspace, path), 'utf8')
    expect([text('a.txt'), text('unsaved.txt'), text('new/c.txt')]).toEqual(['1', 'final', 'c'])
    expect(existsSync(join(workspace, 'b.txt'))).toBe(false)
    const failing: WorkspaceClient = {
      readText: async () => undefined,
      writeText: async (path, content) => {
        if (path.endsWith('c.txt')) throw new Error('The editor is closed')
        writeFileSync(path, content)
      },
    }
    const { fs: broken } = open(workspace, failing)
    expect(await codeOf(broken.apply([
      { path: 'a.txt', before: '1', after: 'x' }, { path: 'd.txt', before: null, after: 'd' },
      { path: 'unsaved.txt', before: 'final', after: null }, { path: 'new/c.txt', before: 'c', after: 'x' },
    ]))).toBe('ToolExecutionFailed')
    expect([text('a.txt'), text('unsaved.txt'), text('new/c.txt')]).toEqual(['1', 'final', 'c'])
    expect(existsSync(join(workspace, 'd.txt'))).toBe(false)
  })

  it('are asked for only inside the grant and the workspace, by the real path', async () => {
    const { root, workspace, outside } = await setUp()
    const client = new Client({ 'secret.txt': 'leaked', 'a.md': 'edited' })
    const lent = join(outside, 'secret.txt')
    const options = { clientOf: () => client, extraFiles: () => new Set([lent]) }
    const { fs } = openFs(workspace, { read: ['docs/**'], write: ['docs/**'] }, options)
    for (const path of [
      'root.txt', 'docs/../root.txt', '/etc/passwd', join(root, 'workspace-other/secret.txt'), 'docs/proc/etc/passwd',
    ]) {
      expect(await codeOf(fs.readText(path))).toBe('CapabilityDenied')
      expect(await codeOf(fs.write(path, 'x'))).toBe('CapabilityDenied')
      expect(await codeOf(fs.edit(path, 'root', 'x'))).toBe('CapabilityDenied')
      expect(await codeOf(fs.apply([{ path, before: 'root', after: 'x' }]))).toBe('CapabilityDenied')
    }
    expect(await codeOf(fs.write('docs/folder-link/secret.txt', 'x'))).toBe('CapabilityDenied')
    expect(await codeOf(fs.write('docs/dangling', 'x'))).toBe('CapabilityDenied')
    expect(client.asked).toEqual([])
    expect(await fs.readText(lent)).toBe(CANARY)
    expect(await fs.readText('docs/good-link')).toBe('edited')
    expect(client.asked).toEqual([`read ${join(workspace, 'docs/a.md')}`])
  })
})
