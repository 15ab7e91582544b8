import { lstat, mkdir, readdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { toolSession } from '../../../test/tool-session.ts'

describe('write', () => {
  const tool = toolSession('write')
  const text = (path: string) => readFile(join(tool.workspace, path), 'utf8')

  it('creates a file with its folders, and replaces it', async () => {
    expect(await tool.call({ path: 'a/b/c.txt', content: 'zürich\r\n' })).toEqual({
      path: 'a/b/c.txt', bytes: 9, created: true,
    })
    expect(await tool.call({ path: join(tool.workspace, 'a/b/c.txt'), content: '' })).toMatchObject({
      bytes: 0, created: false,
    })
    expect(await text('a/b/c.txt')).toBe('')
    expect(await readdir(join(tool.workspace, 'a/b'))).toEqual(['c.txt'])
  })

  it.each([
    ['outside the workspace', { path: '../x', content: '' }, 'CapabilityDenied'],
    ['at an absolute path outside', { path: '/tmp/bulkhead-never', content: '' }, 'CapabilityDenied'],
    ['through a link that leads out', { path: 'out/x', content: '' }, 'CapabilityDenied'],
    ['to a dangling link', { path: 'dangling', content: '' }, 'CapabilityDenied'],
    ['to a device', { path: 'null', content: '' }, 'CapabilityDenied'],
    ['to a folder', { path: 'folder', content: '' }, 'InputInvalid'],
    ['to a path with a NUL', { path: 'a\0b', content: '' }, 'InputInvalid'],
    ['below a file', { path: 'file/x', content: '' }, 'NotFound'],
    ['to a file name that is too long', { path: 'x'.repeat(300), content: '' }, 'InputInvalid'],
  ])('does not write %s', async (_, args, code) => {
    await mkdir(join(tool.workspace, 'folder'), { recursive: true })
    await tool.put('file')
    for (const [name, target] of [
      ['out', '/tmp'], ['dangling', '/tmp/bulkhead-never'], ['null', '/dev/null'],
    ] as const) {
      await symlink(target, join(tool.workspace, name)).catch(() => undefined)
    }
    expect((await tool.refusal(args)).code).toBe(code)
    await expect(lstat('/tmp/bulkhead-never')).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('uses the file as its approval key', async () => {
    expect(await tool.key({ path: 'src/a.txt', content: '' })).toBe('src/a.txt')
  })

  it('does nothing if the call is already cancelled', async () => {
    await expect(tool.call({ path: 'late', content: 'x' }, AbortSignal.abort(new Error('enough')))).rejects.toThrow(
      'enough',
    )
    await expect(lstat(join(tool.workspace, 'late'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('leaves no partial file when it is cancelled', async () => {
    await tool.put('big', 'old')
    const cancel = new AbortController()
    const writing = tool.call({ path: 'big', content: 'x'.repeat(900_000) }, cancel.signal).catch(() => undefined)
    cancel.abort()
    await writing
    expect(['old', 'x'.repeat(900_000)]).toContain(await text('big'))
  })
})
