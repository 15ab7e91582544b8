import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DeniedPaths, ServerStart } from '@bulkhead/contract'
import { matchGlob } from '@bulkhead/kit/glob'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { has, needs, WALLS } from '../../../../scripts/machine.ts'
import { createServerJail } from '../../src/index.ts'
import { ruledGrant } from '../../src/jail/denied-grants.ts'
import { runJailed } from './run-jailed.ts'

let work: string
beforeEach(() => {
  work = realpathSync(mkdtempSync('/var/tmp/bulkhead-denied-'))
  mkdirSync(join(work, 'src/keys'), { recursive: true })
  for (const file of ['.env', 'src/keys/k', 'src/a', 'note']) writeFileSync(join(work, file), `${file}\n`)
})
afterEach(() => rmSync(work, { recursive: true }))

const denying = (capability: 'fs.read' | 'fs.write', ...patterns: readonly string[]): DeniedPaths => ({
  hasExceptions: false, rule: 'the rule', places: [],
  ruleFor: (asked, path) =>
    asked === capability && patterns.some((pattern) => matchGlob(join(work, pattern), path)) ? 'the rule' : undefined,
})

async function run(
  script: string, grant: Partial<ServerStart['grant']>, denied: DeniedPaths | undefined,
): Promise<string> {
  const jail = createServerJail({ kept: [], ownCode: [], projectLayer: join(work, '.bulkhead'), home: undefined })
  const { stdout } = await runJailed(jail, {
    command: ['/bin/sh', '-c', script], cwd: work, env: { PATH: '/usr/bin:/bin' },
    grant: { read: [], write: [], hosts: [], ...grant }, denied,
  })
  return stdout
}

describe('a server in its jail', { ...needs('Linux'), ...WALLS }, () => {
  const script = 'for path in .env src/keys/k src/a note; do cat $path 2>/dev/null; done'

  it('does not see what rules deny, and sees what is beside it', async () => {
    expect(await run(script, { read: [work] }, denying('fs.read', '**/.env', 'src/keys'))).toBe('src/a\nnote\n')
    expect(await run(script, { read: [work] }, undefined)).toBe('.env\nsrc/keys/k\nsrc/a\nnote\n')
  })

  it('is not granted a file that rules deny', async () => {
    expect(await run(script, { read: [join(work, '.env'), join(work, 'src/a')] }, denying('fs.read', '**/.env')))
      .not.toContain('.env')
  })

  it('that writes is not started where only bubblewrap could hide them', async () => {
    const running = run(`${script}; echo x > .env; echo y > made`, { write: [work] }, denying('fs.read', '**/.env'))
    if (has('bubblewrap')) expect(await running).toBe('src/keys/k\nsrc/a\nnote\n')
    else
      await expect(running).rejects.toMatchObject({
        code: 'RuleDenied', message: expect.stringContaining('the rule denies files, and without bubblewrap') as string,
      })
    expect(readFileSync(join(work, '.env'), 'utf8')).toBe('.env\n')
  })

  it('is not started if it could see more files than can be hidden', async () => {
    for (let index = 0; index <= 1_000; index++) writeFileSync(join(work, `${index}.key`), 'key\n')
    const many = run(`${script}; cat 0.key 2>/dev/null`, { read: [work] }, denying('fs.read', '**/*.key'))
    if (!has('bubblewrap')) expect(await many).toBe('.env\nsrc/keys/k\nsrc/a\nnote\n')
    else
      await expect(many).rejects.toMatchObject({
        code: 'RuleDenied',
        message: expect.stringContaining('1001 files are too many to hide. Deny their folders') as string,
      })
    for (let index = 0; index <= 4_096; index++) writeFileSync(join(work, `${index}.txt`), '')
    const beside = run(script, { read: [work] }, denying('fs.read', '**/.env'))
    if (has('bubblewrap')) expect(await beside).toBe('src/keys/k\nsrc/a\nnote\n')
    else
      await expect(beside).rejects.toMatchObject({
        code: 'CapabilityUnavailable', message: expect.stringContaining('too many entries beside files') as string,
      })
  })

  it('does not write what rules deny', needs('bubblewrap'), async () => {
    await run(
      'echo x > note; rm -f note; mv src away; echo z > src/a', { write: [work] }, denying('fs.write', 'note', 'src/a'),
    )
    expect(readFileSync(join(work, 'note'), 'utf8')).toBe('note\n')
    expect(readFileSync(join(work, 'src/a'), 'utf8')).toBe('src/a\n')
  })
})

describe('what a server is granted', () => {
  const start = (grant: Partial<ServerStart['grant']>): ServerStart =>
    ({ grant: { read: [], write: [], hosts: [], ...grant }, denied: denying('fs.read', '**/.env') }) as ServerStart

  it('has no file that rules deny, whatever hides files', async () => {
    const [env, a] = [join(work, '.env'), join(work, 'src/a')]
    for (const hasMounts of [true, false]) {
      const { grant } = await ruledGrant(start({ read: [env, a], write: [env] }), hasMounts)
      expect(grant).toMatchObject({ read: [a], write: [] })
    }
  })

  it('cannot be a folder to write with such a file, where nothing hides it', async () => {
    expect((await ruledGrant(start({ write: [work] }), true)).hidden).toEqual([join(work, '.env')])
    await expect(ruledGrant(start({ write: [work] }), false)).rejects.toMatchObject({ code: 'RuleDenied' })
  })
})
