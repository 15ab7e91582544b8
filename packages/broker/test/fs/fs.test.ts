import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../fixture.ts'
import { codeOf, openFs, put } from './setup.ts'

describe('the file capability', () => {
  it('leaves no descriptor open, whatever the result', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, 'docs/a.txt', 'docs/deep/b.txt')
    const { fs, endCall, close } = openFs(workspace, { read: ['docs/**'], write: ['docs/**'] })
    const ask = async (): Promise<void> => {
      const asked = [
        fs.readText('docs/a.txt'), fs.readText('docs/none'), fs.readText('docs'), fs.readText('/etc/passwd'),
        fs.list('docs'),
        fs.list('docs/a.txt'), fs.stat('docs/a.txt'), fs.glob('**/*'), fs.glob('**/*', { path: 'docs/none' }),
        fs.write('docs/c.txt', 'x'),
        fs.write('docs/deep', 'x'), fs.edit('docs/a.txt', 'none', 'x'), fs.remove('docs/none'),
        fs.watch('docs').started,
        fs.watch('docs/none/deep').started,
      ]
      await Promise.allSettled(asked)
    }
    await ask()
    endCall()
    await close()
    // By now the event loop has opened its own descriptors.
    const before = readdirSync('/proc/self/fd').length
    for (let round = 0; round < 5; round++) await ask()
    endCall()
    await close()
    expect(readdirSync('/proc/self/fd').length).toBe(before)
  })

  it('checks each tool against its own grant, compiled once', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, ['a/x.txt', 'a'], ['b/x.txt', 'b'])
    const [one, other] = [openFs(workspace, { read: ['a/**'] }), openFs(workspace, { read: ['b/**'] })]
    expect(await one.fs.readText('a/x.txt')).toBe('a')
    expect(await one.beside().fs.readText('a/x.txt')).toBe('a')
    expect(await codeOf(one.fs.readText('b/x.txt'))).toBe('CapabilityDenied')
    expect(await other.fs.readText('b/x.txt')).toBe('b')
    expect(await codeOf(other.fs.readText(join(workspace, 'a/x.txt')))).toBe('CapabilityDenied')
  })

  it('rejects arguments of the wrong type', async () => {
    const workspace = await temporaryFolder()
    const { fs } = openFs(workspace, { read: ['**'], write: ['**'] })
    const odd = [null, 5, {}, ['a'], true] as unknown as string[]
    for (const path of odd) {
      expect(await codeOf(fs.readText(path))).toBe('InputInvalid')
      expect(await codeOf(fs.watch(path).started)).toBe('InputInvalid')
      expect(await codeOf(fs.glob(path))).toBe('InputInvalid')
      expect(await codeOf(fs.glob('*', { path }))).toBe('InputInvalid')
      expect(await codeOf(fs.write(path, 'x'))).toBe('InputInvalid')
    }
    expect(await codeOf(fs.readText('a', { start: 0.5 }))).toBe('InputInvalid')
    expect(await codeOf(fs.glob('*', 'x' as never))).toBe('InputInvalid')
  })
})
