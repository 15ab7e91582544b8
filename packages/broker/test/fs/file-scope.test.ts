import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { link, mkdir, readdir, readFile, realpath, rename, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { codeOf, invocation, newSandbox, refusal, requestOf, running } from '../../../sandbox/test/fixture.ts'
import { toolOf } from '../fixture.ts'
import { CANARY, setUp, openFs, put } from './setup.ts'

/** A tool that does one file operation through its runtime. */
const CLERK = running('return runtime.fs[args.do](...args.with)')

type Clerk = (method: string, ...args: readonly (string | boolean | JsonObject)[]) => Promise<unknown>

async function clerk(workspace: string, requires: JsonObject): Promise<Clerk> {
  const session = await newSandbox(workspace).open(
    requestOf({ placement: 'thread', source: CLERK, tools: [toolOf('run', requires, workspace)] }),
  )
  return (method, ...args) => session.call(invocation({ do: method, with: args }))
}

/** The same without a compartment, for what is checked behind it. */
function direct(workspace: string, { fs: requires }: { fs: JsonObject }): Clerk {
  const fs = openFs(workspace, requires).fs as unknown as Readonly<Record<string, Clerk>>
  return (method, ...args) => fs[method]!(...args as [string])
}

describe('reading', () => {
  it('stays inside the grant, whatever the path looks like', async () => {
    const { workspace, outside } = await setUp()
    const fs = await clerk(workspace, { fs: { read: ['docs/**'] } })
    expect(await fs('readText', 'docs/a.md')).toBe('inside')
    expect(await fs('readText', join(workspace, 'docs', 'a.md'))).toBe('inside')
    expect(await fs('readText', './docs/deep/../a.md')).toBe('inside')
    expect(await fs('readText', 'docs/good-link')).toBe('inside')
    const escapes = [
      'root.txt', 'docs/../root.txt', '../outside/secret.txt', join(outside, 'secret.txt'),
      '../workspace-other/secret.txt',
      'docs/folder-link/secret.txt', 'docs/file-link', 'docs/chain', 'docs/proc/etc/passwd',
      `docs/proc${outside}/secret.txt`,
      'docs/loop', '/etc/passwd', '/proc/self/environ', '/dev/zero', 'docs/folder-link/not-there', '/not/there',
      'docs/dangling',
      `/proc/self/root${workspace}/docs/a.md`, '/proc/self/cwd', '/dev/fd/0', '/dev/stdin', '//etc/passwd',
      'docs/../../outside/secret.txt',
      `${workspace}-other/secret.txt`, 'docs/a.md/../../root.txt', 'docs/deep/../../../outside/secret.txt',
    ]
    for (const path of escapes) {
      const error = await refusal(fs('readText', path))
      expect(error.code, path).toBe('CapabilityDenied')
      expect(JSON.stringify([error.message, error.data]), path).not.toContain(CANARY)
    }
    for (const path of [
      '', 'docs/a.md\0.txt', 'x'.repeat(5_000), `docs/${'x'.repeat(300)}`, 'docs/a.md/', 'docs/a.md/.',
    ]) {
      expect(await codeOf(fs('readText', path)), path).toBe('InputInvalid')
    }
    expect(await codeOf(fs('readText', 'docs/none.md'))).toBe('NotFound')
    expect(await codeOf(fs('readText', 'docs/a.md/b'))).toBe('NotFound')
  })

  it('lists folders without following their links', async () => {
    const { workspace } = await setUp()
    const fs = direct(workspace, { fs: { read: ['docs/**'] } })
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

  it('accepts regular files only, up to the largest read', async () => {
    const { workspace } = await setUp()
    execFileSync('mkfifo', [join(workspace, 'docs', 'pipe')])
    await writeFile(join(workspace, 'docs', 'big'), Buffer.alloc(8 * 1024 * 1024 + 1))
    const fs = direct(workspace, { fs: { read: ['**'] } })
    expect(await codeOf(fs('readText', 'docs/pipe'))).toBe('InputInvalid')
    expect(await codeOf(fs('readText', 'docs'))).toBe('InputInvalid')
    expect(await codeOf(fs('readText', 'docs/big'))).toBe('InputInvalid')
    expect(await fs('readText', 'docs/big', { start: 8 * 1024 * 1024 })).toBe('\0')
    expect(await fs('readText', 'docs/a.md', { start: 2, end: 4 })).toBe('si')
    expect(await fs('readText', 'docs/a.md', { start: 50 })).toBe('')
    expect(await codeOf(fs('readText', 'docs/a.md', { start: -1 }))).toBe('InputInvalid')
  })

  it('works in a workspace behind a link', async () => {
    const { workspace, outside } = await setUp()
    const linked = join(outside, 'linked-workspace')
    await symlink(workspace, linked)
    const session = await newSandbox(linked).open(
      requestOf({ placement: 'thread', source: CLERK, tools: [toolOf('run', { fs: { read: ['docs/**'] } }, linked)] }),
    )
    expect(await session.call(invocation({ do: 'readText', with: ['docs/a.md'] }))).toBe('inside')
    expect(await codeOf(session.call(invocation({ do: 'readText', with: ['docs/file-link'] }))))
      .toBe('CapabilityDenied')
  })
})

describe('writing', () => {
  it('stays inside the grant and leaves no temporary file', LONG, async () => {
    const { workspace, outside } = await setUp()
    const fs = await clerk(workspace, { fs: { read: ['**'], write: ['docs/**'] } })
    expect(await fs('write', 'docs/new.txt', 'one')).toEqual({ bytes: 3, created: true })
    expect(await fs('write', 'docs/new.txt', 'two!')).toEqual({ bytes: 4, created: false })
    expect(await fs('edit', 'docs/new.txt', 'two', 'three')).toMatchObject({ replacements: 1 })
    expect(await readFile(join(workspace, 'docs', 'new.txt'), 'utf8')).toBe('three!')
    const escapes = [
      'root.txt', 'docs/folder-link/new.txt', 'docs/folder-link/secret.txt', 'docs/file-link', '../outside/x',
      join(outside, 'x'),
      'docs/proc/tmp/x',
    ]
    for (const path of escapes) {
      expect(await codeOf(fs('write', path, 'x')), path).toBe('CapabilityDenied')
      expect(await codeOf(fs('remove', path)), path).toBe('CapabilityDenied')
      expect(await codeOf(fs('edit', path, 'a', 'b')), path).toBe('CapabilityDenied')
    }
    expect(await codeOf(fs('write', 'docs/dangling', 'x'))).toBe('CapabilityDenied')
    expect(await codeOf(fs('write', 'docs/deep', 'x'))).toBe('InputInvalid')
    expect(await codeOf(fs('write', 'docs/a.md/x', 'x'))).toBe('NotFound')
    expect(await codeOf(fs('write', 'docs/new/', 'x'))).toBe('InputInvalid')
    expect(await readdir(outside)).toEqual(['secret.txt'])
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe(CANARY)
    expect((await readdir(join(workspace, 'docs'))).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  it('edits one or all occurrences, and removes files', async () => {
    const { workspace } = await setUp()
    const fs = direct(workspace, { fs: { read: ['docs/*.md'], write: ['docs/*.md'] } })
    await writeFile(join(workspace, 'docs', 'b.md'), 'x y x', { mode: 0o640 })
    expect(await codeOf(fs('edit', 'docs/b.md', 'x', 'z'))).toBe('InputInvalid')
    expect(await codeOf(fs('edit', 'docs/b.md', 'q', 'z'))).toBe('InputInvalid')
    expect(await fs('edit', 'docs/b.md', 'x', '$&', { all: true })).toMatchObject({ replacements: 2 })
    expect(await readFile(join(workspace, 'docs', 'b.md'), 'utf8')).toBe('$& y $&')
    expect((await stat(join(workspace, 'docs', 'b.md'))).mode & 0o777).toBe(0o640)
    await fs('remove', 'docs/b.md')
    expect(await codeOf(fs('remove', 'docs/b.md'))).toBe('NotFound')
    expect(await codeOf(fs('write', 'docs/c.txt', ''))).toBe('CapabilityDenied')
  })

  it('needs its own grant, as reading does', async () => {
    const { workspace } = await setUp()
    const reader = direct(workspace, { fs: { read: ['**'] } })
    const writer = direct(workspace, { fs: { write: ['**'] } })
    expect(await codeOf(reader('write', 'docs/a.md', 'x'))).toBe('CapabilityDenied')
    expect(await codeOf(writer('readText', 'docs/a.md'))).toBe('CapabilityDenied')
  })
})

describe('a link', () => {
  it('is followed into the grant only, in whatever form', async () => {
    const { workspace, outside } = await setUp()
    await put(workspace, 'docs/deep/b.md', 'other/c.md')
    const links: readonly (readonly [name: string, target: string])[] = [
      ['relative', 'deep/b.md'], ['up', 'deep/../deep/b.md'], ['absolute', join(workspace, 'docs/deep/b.md')],
      ['through', 'good-folder/b.md'], ['above-and-back', '../docs/deep/b.md'],
      ['up-and-back', '../../workspace/docs/deep/b.md'],
    ]
    const escapes: readonly (readonly [name: string, target: string])[] = [
      ['sibling', '../other/c.md'], ['out', outside], ['out-and-back', 'folder-link/../workspace/docs/a.md'],
      ['top', '/'],
      ['into-proc', `/proc/self/root${workspace}/docs/a.md`], ['missing-and-up', 'none/../../root.txt'],
    ]
    for (const [name, target] of [...links, ...escapes]) await symlink(target, join(workspace, 'docs', name))
    const { fs } = openFs(workspace, { read: ['docs/**'], write: ['docs/**'] })
    for (const [name] of links) expect(await fs.readText(`docs/${name}`), name).toBe('')
    for (const [name] of escapes) expect(await codeOf(fs.readText(`docs/${name}`)), name).toBe('CapabilityDenied')
    await fs.write('docs/relative', 'through the link')
    expect(await readFile(join(workspace, 'docs/deep/b.md'), 'utf8')).toBe('through the link')
    expect((await fs.list('docs')).find(({ name }) => name === 'relative')?.kind).toBe('other')
  })

  it('in the part of a pattern from the manifest does not widen the grant', async () => {
    const { workspace, outside } = await setUp()
    await symlink(outside, join(workspace, 'src'))
    await symlink('docs', join(workspace, 'alias'))
    const { fs } = openFs(workspace, { read: ['src/**', 'src', 'alias/**'], write: ['src/**'] })
    for (const path of ['src/secret.txt', 'src', 'alias/a.md']) expect(await codeOf(fs.stat(path)), path)
      .toBe('CapabilityDenied')
    expect(await codeOf(fs.list('src'))).toBe('CapabilityDenied')
    expect(await codeOf(fs.write('src/new', 'x'))).toBe('CapabilityDenied')
    expect(await readdir(outside)).toEqual(['secret.txt'])
  })

  it('is not removed, and neither is its target', async () => {
    const { workspace } = await setUp()
    const { fs } = openFs(workspace, { write: ['docs/**'] })
    expect(await codeOf(fs.remove('docs/good-link'))).toBe('InputInvalid')
    expect(await codeOf(fs.remove('docs/good-folder'))).toBe('InputInvalid')
    expect(await readFile(join(workspace, 'docs/good-link'), 'utf8')).toBe('inside')
  })

  it('gives the same error for every target outside', async () => {
    const { workspace, outside } = await setUp()
    await mkdir(join(outside, 'locked'), { mode: 0 })
    const { fs } = openFs(workspace, { read: ['docs/**'] })
    const names = ['secret.txt', 'none', 'none/deeper', 'locked', 'locked/x', 'x'.repeat(300), 'secret.txt/x']
    const answers = await Promise.all(names.map(async (name) => {
      const { code, message } = await refusal(fs.readText(`docs/folder-link/${name}`))
      return [code, message.replace(name, '…')]
    }))
    expect(new Set(answers.map((answer) => answer.join())).size).toBe(1)
  })
})

describe('a special file', () => {
  it('is rejected at once', async () => {
    const { workspace } = await setUp()
    execFileSync('mkfifo', [join(workspace, 'docs', 'pipe')])
    const server = createServer().listen(join(workspace, 'docs', 'socket'))
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { fs } = openFs(workspace, { read: ['**'], write: ['**'] })
    for (const name of ['docs/pipe', 'docs/socket']) {
      expect(await codeOf(fs.readText(name)), name).toBe('InputInvalid')
      expect(await codeOf(fs.stat(name)), name).toBe('InputInvalid')
      expect(await codeOf(fs.write(name, 'x')), name).toBe('InputInvalid')
      expect(await codeOf(fs.edit(name, 'a', 'b')), name).toBe('InputInvalid')
      expect(await codeOf(fs.remove(name)), name).toBe('InputInvalid')
      expect(await codeOf(fs.list(name))).toBe('NotFound')
    }
  })

  it('is not covered by a grant of everything', async () => {
    const { fs } = openFs('/', { read: ['**'], write: ['**'] })
    const kernel = [
      '/proc/self/environ', '/proc/self/mem', '/proc/self/root/etc/passwd', '/dev/null', '/dev/fd/0', '/sys/kernel',
    ]
    for (const path of kernel) {
      expect(await codeOf(fs.readText(path)), path).toBe('CapabilityDenied')
      expect(await codeOf(fs.write(path, 'x')), path).toBe('CapabilityDenied')
    }
    expect(await codeOf(fs.list('/proc'))).toBe('CapabilityDenied')
    expect((await fs.stat('/')).kind).toBe('directory')
  })
})

describe('a file with several hard links', () => {
  it('is accessible by a name inside the grant, and its other names keep their content', async () => {
    const { workspace, outside } = await setUp()
    await link(join(outside, 'secret.txt'), join(workspace, 'docs', 'twin.txt'))
    const { fs } = openFs(workspace, { read: ['docs/**'], write: ['docs/**'] })
    expect(await fs.readText('docs/twin.txt')).toBe(CANARY)
    await fs.edit('docs/twin.txt', 'sings', 'is silent')
    await fs.write('docs/twin.txt', 'overwritten')
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe(CANARY)
  })
})

describe('a workspace that changes', () => {
  it('is found where its link leads now', async () => {
    const { root, workspace, outside } = await setUp()
    const [first, second, linked] = [join(root, 'first'), join(root, 'second'), join(root, 'linked')]
    await put(root, ['first/f.txt', 'one'], ['second/f.txt', 'two'])
    await symlink(join(first, 'f.txt'), join(second, 'old'))
    await symlink(first, linked)
    const { fs } = openFs(linked, { read: ['**'] })
    expect(await fs.readText('f.txt')).toBe('one')
    await unlink(linked)
    await symlink(second, linked)
    expect(await fs.readText('f.txt')).toBe('two')
    expect(await codeOf(fs.readText('old'))).toBe('CapabilityDenied')
    expect(await codeOf(openFs(workspace, { read: ['**'] }).fs.readText(join(outside, 'secret.txt'))))
      .toBe('CapabilityDenied')
  })

  it('is found if a parent folder has become a link', async () => {
    const { root } = await setUp()
    await put(root, ['home/ws/f.txt', 'here'])
    const { fs } = openFs(join(root, 'home/ws'), { read: ['**'] })
    expect(await fs.readText('f.txt')).toBe('here')
    await rename(join(root, 'home'), join(root, 'moved'))
    await symlink('moved', join(root, 'home'))
    expect(await fs.readText('f.txt')).toBe('here')
    expect(await realpath(join(root, 'home/ws'))).toBe(join(root, 'moved/ws'))
  })

  it('is usable once it is created', async () => {
    const { root } = await setUp()
    const { fs } = openFs(join(root, 'later'), { read: ['**'], write: ['**'] })
    expect(await codeOf(fs.readText('f.txt'))).toBe('NotFound')
    await put(root, ['later/f.txt', 'now'])
    expect(await fs.readText('f.txt')).toBe('now')
  })
})
