import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { BulkheadError } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../fixture.ts'
import { codeOf, openFs, put } from './setup.ts'

const HIDDEN = [
  '.env', '.env.local', '.env.any', '.ENV', 'app/.env', '.aws/credentials', 'home/.ssh/id_rsa', '.npmrc',
  'x/.config/gh/hosts.yml',
]
const OPEN = ['a.txt', 'env', 'app/environment.ts', 'x/.config/other/a', '.github/workflows/ci.yml']

async function workspaceWith(read: readonly string[]) {
  const workspace = await temporaryFolder()
  await put(workspace, ...[...HIDDEN, ...OPEN].map((path): [string, string] => [path, `KEY=1 of ${path}`]))
  return { workspace, ...openFs(workspace, { read, write: ['**'] }) }
}

describe('files with credentials or variables', () => {
  it.each([[['**']], [['{workspace}/*', '**/*.txt', '**']]])('are not read for %j', async (patterns) => {
    const { fs } = await workspaceWith(patterns)
    for (const path of HIDDEN) expect([path, await codeOf(fs.readText(path))]).toEqual([path, 'CapabilityDenied'])
    for (const path of OPEN) expect(await fs.readText(path)).toBe(`KEY=1 of ${path}`)
  })

  it('are not read through a link, nor revealed by an edit', async () => {
    const { workspace, fs } = await workspaceWith(['**'])
    symlinkSync('.env', join(workspace, 'notes.txt'))
    symlinkSync('../.aws', join(workspace, 'app/cloud'))
    for (const path of ['notes.txt', 'app/cloud/credentials']) {
      expect([path, await codeOf(fs.readText(path))]).toEqual([path, 'CapabilityDenied'])
    }
    expect(await codeOf(fs.edit('.env', 'KEY=1', 'KEY=2'))).toBe('CapabilityDenied')
  })

  it('are left out of searches', async () => {
    const { fs } = await workspaceWith(['**'])
    const { matches } = await fs.search('KEY')
    expect(matches.map(({ path }) => path).filter((path) => HIDDEN.includes(path))).toEqual([])
    expect(matches.map(({ path }) => path)).toContain('a.txt')
    expect((await fs.glob('**')).filter((path) => HIDDEN.includes(path))).toEqual([])
    expect((await fs.find('**')).paths.filter((path) => HIDDEN.includes(path))).toEqual([])
    expect(await codeOf(fs.search('KEY', { path: '.env' }))).toBe('CapabilityDenied')
  })

  it('are read and found for a pattern that names them', async () => {
    const { fs } = await workspaceWith(['**', '**/.*'])
    for (const path of HIDDEN) expect(await fs.readText(path)).toBe(`KEY=1 of ${path}`)
    expect((await fs.find('**/.env*')).paths.toSorted()).toEqual(['.env', '.env.any', '.env.local', 'app/.env'])
    const { fs: one } = await workspaceWith(['{workspace}/app/.env'])
    expect(await one.readText('app/.env')).toBe('KEY=1 of app/.env')
    expect(await codeOf(one.readText('.env'))).toBe('CapabilityDenied')
  })

  it('say why', async () => {
    const { fs } = await workspaceWith(['**'])
    const error: BulkheadError = await fs.readText('.env').then(() => { throw new Error('read') }, (thrown) => thrown)
    expect(error.message).toContain('".env" is not read without being named')
    expect(error.message).toContain('{workspace}/.env')
  })
})
