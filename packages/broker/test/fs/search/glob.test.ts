import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import { temporaryFolder } from '../../fixture.ts'
import { codeOf, openFs, put } from '../setup.ts'

async function setUp(): Promise<string> {
  const root = await temporaryFolder()
  await put(
    root, 'outside/canary.ts', 'ws/a.ts', 'ws/b.ts', 'ws/src.ts', 'ws/src/z.ts', 'ws/src/deep/y.ts', 'ws/src/deep/x.js',
  )
  await put(root, 'ws/.hidden/h.ts', 'ws/docs/d.md')
  const workspace = join(root, 'ws')
  await symlink('../outside', join(workspace, 'out'))
  await symlink('../outside/canary.ts', join(workspace, 'link.ts'))
  await symlink('src', join(workspace, 'alias'))
  await symlink('.', join(workspace, 'self'))
  return workspace
}

describe('fs.glob', () => {
  it('returns matching files sorted by name, and follows no links', async () => {
    const { fs } = openFs(await setUp(), { read: ['**'] })
    expect(await fs.glob('**/*.ts')).toEqual(['.hidden/h.ts', 'a.ts', 'b.ts', 'src/deep/y.ts', 'src/z.ts', 'src.ts'])
    expect(await fs.glob('*')).toEqual(['a.ts', 'b.ts', 'src.ts'])
    expect(await fs.glob('src/**/*.{js,ts}')).toEqual(['src/deep/x.js', 'src/deep/y.ts', 'src/z.ts'])
    expect(await fs.glob('nothing/*')).toEqual([])
  })

  it('starts at the given folder and returns paths that can be passed back', async () => {
    const workspace = await setUp()
    const { fs } = openFs(workspace, { read: ['**'] })
    expect(await fs.glob('*.ts', { path: 'src' })).toEqual(['src/z.ts'])
    expect(await fs.glob('*.ts', { path: './src//' })).toEqual(['src/z.ts'])
    expect(await fs.glob('*.ts', { path: join(workspace, 'src') })).toEqual([join(workspace, 'src/z.ts')])
    expect(await fs.glob('*.ts', { path: 'alias' })).toEqual(['alias/z.ts'])
    for (const path of await fs.glob('**/*', { path: 'src' })) expect(await fs.readText(path)).toBe('')
    expect(await codeOf(fs.glob('*', { path: 'a.ts' }))).toBe('NotFound')
    expect(await codeOf(fs.glob('*', { path: 'none' }))).toBe('NotFound')
  })

  it('returns only paths that the grant covers', async () => {
    const workspace = await setUp()
    const { fs } = openFs(workspace, { read: ['src/deep/**', '*.ts', 'docs/*.md'] })
    expect(await fs.glob('**/*')).toEqual(['a.ts', 'b.ts', 'docs/d.md', 'src/deep/x.js', 'src/deep/y.ts', 'src.ts'])
    expect(await fs.glob('*', { path: 'docs' })).toEqual(['docs/d.md'])
    expect(await codeOf(fs.glob('*', { path: '.hidden' }))).toBe('CapabilityDenied')
    expect(await codeOf(fs.glob('*', { path: 'out' }))).toBe('CapabilityDenied')
    expect(await codeOf(fs.glob('*', { path: '..' }))).toBe('CapabilityDenied')
    expect(await codeOf(fs.glob('*', { path: '/' }))).toBe('CapabilityDenied')
  })

  it('returns the first results up to a limit', async () => {
    const { fs } = openFs(await setUp(), { read: ['**'] })
    expect(await fs.glob('**/*.ts', { limit: 3 })).toEqual(['.hidden/h.ts', 'a.ts', 'b.ts'])
    expect(await fs.glob('**/*.ts', { limit: 1_000_000 })).toHaveLength(6)
    for (const limit of [0, -1, 1.5, Number.NaN]) expect(await codeOf(fs.glob('*', { limit }))).toBe('InputInvalid')
  })

  it.each([
    ['results', { results: 5 }], ['names', { names: 8 }], ['depth', { depth: 1 }], ['time', { timeMs: -1 }],
  ])('fails beyond its limit of %s', async (_, globLimits) => {
    const { fs } = openFs(await setUp(), { read: ['**'] }, { globLimits })
    expect(await codeOf(fs.glob('**/*.ts'))).toBe('OutputTooLarge')
  })

  it('ends with its call', async () => {
    const workspace = await temporaryFolder()
    let folder = workspace
    for (let depth = 0; depth < 40; depth++) await mkdir(folder = join(folder, 'd'))
    const { fs, call } = openFs(workspace, { read: ['**'] })
    const search = fs.glob('**/*')
    call.abort(new Error('enough'))
    await expect(search).rejects.toThrow('enough')
  })

  it('applies its time limit inside one folder, however costly the pattern', LONG, async () => {
    const workspace = await temporaryFolder()
    await put(workspace, ...Array.from({ length: 1_000 }, (_, index) => `${'a'.repeat(200)}${index}`))
    const { fs } = openFs(workspace, { read: ['**'] }, { globLimits: { timeMs: 25 } })
    const costly = Array.from({ length: 48 }, (_, index) => `${'*a'.repeat(8)}*x${index}`)
    expect(await codeOf(fs.glob(`{${costly.join(',')}}`))).toBe('OutputTooLarge')
  })
})
