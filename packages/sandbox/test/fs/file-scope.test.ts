import { execFileSync } from 'node:child_process'
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { codeOf, invocation, newSandbox, refusal, requestOf, running, temporaryFolder, toolOf } from './fixture.ts'

const CANARY = 'the canary sings'

/** A workspace with links of every kind out of it and into it, and a canary outside. */
async function ground(): Promise<{ readonly workspace: string; readonly outside: string }> {
  const root = await temporaryFolder()
  const [workspace, outside] = [join(root, 'workspace'), join(root, 'outside')]
  await mkdir(join(workspace, 'docs', 'deep'), { recursive: true })
  await mkdir(join(root, 'workspace-other'))
  await mkdir(outside)
  await writeFile(join(outside, 'secret.txt'), CANARY)
  await writeFile(join(root, 'workspace-other', 'secret.txt'), CANARY)
  await writeFile(join(workspace, 'docs', 'a.md'), 'inside')
  await writeFile(join(workspace, 'root.txt'), 'root')
  await symlink(outside, join(workspace, 'docs', 'folder-link'))
  await symlink('../../outside/secret.txt', join(workspace, 'docs', 'file-link'))
  await symlink('file-link', join(workspace, 'docs', 'chain'))
  await symlink('a.md', join(workspace, 'docs', 'good-link'))
  await symlink('deep', join(workspace, 'docs', 'good-folder'))
  await symlink(join(outside, 'not-there'), join(workspace, 'docs', 'dangling'))
  await symlink('loop', join(workspace, 'docs', 'loop'))
  await symlink('/proc/self/root', join(workspace, 'docs', 'proc'))
  return { workspace, outside }
}

/** A tool that does one file operation, straight at the broker through the runtime. */
const CLERK = running('return runtime.fs[args.do](...args.with)')

type Clerk = (method: string, ...args: readonly (string | boolean | JsonObject)[]) => Promise<unknown>

async function clerk(workspace: string, requires: JsonObject): Promise<Clerk> {
  const session = await newSandbox(workspace).open(
    requestOf({ placement: 'thread', source: CLERK, tools: [toolOf('run', requires, workspace)] }),
  )
  return (method, ...args) => session.call(invocation({ do: method, with: args }))
}

describe('reading', () => {
  it('stays inside the grant, whatever the path looks like', async () => {
    const { workspace, outside } = await ground()
    const fs = await clerk(workspace, { fs: { read: ['docs/**'] } })
    expect(await fs('readText', 'docs/a.md')).toBe('inside')
    expect(await fs('readText', join(workspace, 'docs', 'a.md'))).toBe('inside')
    expect(await fs('readText', './docs/deep/../a.md')).toBe('inside')
    expect(await fs('readText', 'docs/good-link')).toBe('inside')
    const escapes = [
      'root.txt', 'docs/../root.txt', '../outside/secret.txt', join(outside, 'secret.txt'), '../workspace-other/secret.txt',
      'docs/folder-link/secret.txt', 'docs/file-link', 'docs/chain', 'docs/proc/etc/passwd', `docs/proc${outside}/secret.txt`,
      'docs/loop', '/etc/passwd', '/proc/self/environ', '/dev/zero', 'docs/folder-link/not-there', '/not/there', 'docs/dangling',
    ]
    for (const path of escapes) {
      const error = await refusal(fs('readText', path))
      expect(error.code, path).toBe('CapabilityDenied')
      expect(JSON.stringify([error.message, error.data]), path).not.toContain(CANARY)
    }
    for (const path of ['', 'docs/a.md\0.txt', 'x'.repeat(5_000)]) {
      expect(await codeOf(fs('readText', path)), path).toBe('InputInvalid')
    }
    expect(await codeOf(fs('readText', 'docs/none.md'))).toBe('NotFound')
    expect(await codeOf(fs('readText', 'docs/a.md/b'))).toBe('NotFound')
  })

  it('lists and looks at folders without following their links', async () => {
    const { workspace } = await ground()
    const fs = await clerk(workspace, { fs: { read: ['docs/**'] } })
    expect(await fs('list', 'docs')).toEqual([
      { name: 'a.md', kind: 'file' }, { name: 'chain', kind: 'other' }, { name: 'dangling', kind: 'other' },
      { name: 'deep', kind: 'directory' }, { name: 'file-link', kind: 'other' }, { name: 'folder-link', kind: 'other' },
      { name: 'good-folder', kind: 'other' }, { name: 'good-link', kind: 'other' },
      { name: 'loop', kind: 'other' }, { name: 'proc', kind: 'other' },
    ])
    expect(await fs('list', 'docs/good-folder')).toEqual([])
    expect(await fs('stat', 'docs')).toMatchObject({ kind: 'directory' })
    expect(await fs('stat', 'docs/a.md')).toMatchObject({ kind: 'file', size: 6 })
    expect(await codeOf(fs('list', 'docs/folder-link'))).toBe('CapabilityDenied')
    expect(await codeOf(fs('list', '.'))).toBe('CapabilityDenied')
    expect(await codeOf(fs('stat', 'docs/folder-link'))).toBe('CapabilityDenied')
    expect(await codeOf(fs('stat', 'docs/file-link'))).toBe('CapabilityDenied')
    expect(await codeOf(fs('list', 'docs/a.md'))).toBe('NotFound')
  })

  it('takes regular files only, and only as much as is read at once', async () => {
    const { workspace } = await ground()
    execFileSync('mkfifo', [join(workspace, 'docs', 'pipe')])
    await writeFile(join(workspace, 'docs', 'big'), Buffer.alloc(8 * 1024 * 1024 + 1))
    const fs = await clerk(workspace, { fs: { read: ['**'] } })
    expect(await codeOf(fs('readText', 'docs/pipe'))).toBe('InputInvalid')
    expect(await codeOf(fs('readText', 'docs'))).toBe('InputInvalid')
    expect(await codeOf(fs('readText', 'docs/big'))).toBe('InputInvalid')
    expect(await fs('readText', 'docs/big', { start: 8 * 1024 * 1024 })).toBe('\0')
    expect(await fs('readText', 'docs/a.md', { start: 2, end: 4 })).toBe('si')
    expect(await fs('readText', 'docs/a.md', { start: 50 })).toBe('')
    expect(await codeOf(fs('readText', 'docs/a.md', { start: -1 }))).toBe('InputInvalid')
  })

  it('works in a workspace that is itself reached through a link', async () => {
    const { workspace, outside } = await ground()
    const linked = join(outside, 'linked-workspace')
    await symlink(workspace, linked)
    const session = await newSandbox(linked).open(
      requestOf({ placement: 'thread', source: CLERK, tools: [toolOf('run', { fs: { read: ['docs/**'] } }, linked)] }),
    )
    expect(await session.call(invocation({ do: 'readText', with: ['docs/a.md'] }))).toBe('inside')
    expect(await codeOf(session.call(invocation({ do: 'readText', with: ['docs/file-link'] })))).toBe('CapabilityDenied')
  })
})

describe('writing', () => {
  it('lands inside the grant in one step and nowhere else', async () => {
    const { workspace, outside } = await ground()
    const fs = await clerk(workspace, { fs: { read: ['**'], write: ['docs/**'] } })
    expect(await fs('write', 'docs/new.txt', 'one')).toEqual({ bytes: 3, created: true })
    expect(await fs('write', 'docs/new.txt', 'two!')).toEqual({ bytes: 4, created: false })
    expect(await fs('edit', 'docs/new.txt', 'two', 'three')).toEqual({ replacements: 1 })
    expect(await readFile(join(workspace, 'docs', 'new.txt'), 'utf8')).toBe('three!')
    const escapes = [
      'root.txt', 'docs/folder-link/new.txt', 'docs/folder-link/secret.txt', 'docs/file-link', '../outside/x', join(outside, 'x'),
      'docs/proc/tmp/x',
    ]
    for (const path of escapes) {
      expect(await codeOf(fs('write', path, 'x')), path).toBe('CapabilityDenied')
      expect(await codeOf(fs('remove', path)), path).toBe('CapabilityDenied')
      expect(await codeOf(fs('edit', path, 'a', 'b')), path).toBe('CapabilityDenied')
    }
    expect(await codeOf(fs('write', 'docs/dangling', 'x'))).toBe('InputInvalid')
    expect(await codeOf(fs('write', 'docs/deep', 'x'))).toBe('InputInvalid')
    expect(await codeOf(fs('write', 'docs/none/x', 'x'))).toBe('NotFound')
    expect(await readdir(outside)).toEqual(['secret.txt'])
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe(CANARY)
    expect((await readdir(join(workspace, 'docs'))).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  it('edits what occurs, once or everywhere, and removes files', async () => {
    const { workspace } = await ground()
    const fs = await clerk(workspace, { fs: { write: ['docs/*.md'] } })
    await writeFile(join(workspace, 'docs', 'b.md'), 'x y x', { mode: 0o640 })
    expect(await codeOf(fs('edit', 'docs/b.md', 'x', 'z'))).toBe('InputInvalid')
    expect(await codeOf(fs('edit', 'docs/b.md', 'q', 'z'))).toBe('InputInvalid')
    expect(await fs('edit', 'docs/b.md', 'x', '$&', { all: true })).toEqual({ replacements: 2 })
    expect(await readFile(join(workspace, 'docs', 'b.md'), 'utf8')).toBe('$& y $&')
    expect((await stat(join(workspace, 'docs', 'b.md'))).mode & 0o777).toBe(0o640)
    await fs('remove', 'docs/b.md')
    expect(await codeOf(fs('remove', 'docs/b.md'))).toBe('NotFound')
    expect(await codeOf(fs('write', 'docs/c.txt', ''))).toBe('CapabilityDenied')
  })

  it('is not had by who may only read, nor reading by who may only write', async () => {
    const { workspace } = await ground()
    const reader = await clerk(workspace, { fs: { read: ['**'] } })
    const writer = await clerk(workspace, { fs: { write: ['**'] } })
    expect(await codeOf(reader('write', 'docs/a.md', 'x'))).toBe('ToolExecutionFailed')
    expect(await codeOf(writer('readText', 'docs/a.md'))).toBe('ToolExecutionFailed')
  })
})
