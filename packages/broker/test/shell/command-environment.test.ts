import { spawn } from 'node:child_process'
import { openSync, closeSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, expect, it, onTestFinished, vi } from 'vitest'
import { any, ShellSetup } from './shell-setup.ts'

const setup = new ShellSetup()
afterAll(() => setup.clear())

it('contains four variables and none of the host', async () => {
  // Node passes the second one on, whatever environment a child gets.
  vi.stubEnv('BULKHEAD_TEST_SECRET', 'secret')
  vi.stubEnv('NODE_V8_COVERAGE', setup.root)
  onTestFinished(() => void vi.unstubAllEnvs())
  const { shell } = setup.open({ shell: any('env') }, { path: ['/usr/bin', '/bin'] })
  const { stdout } = await shell.run('env')
  const marker = /^BULKHEAD_RUN=[0-9a-f-]{36}\.1$/m
  expect(stdout).toMatch(marker)
  expect(stdout.replace(marker, 'BULKHEAD_RUN=…'))
    .toBe('PATH=/usr/bin:/bin\nHOME=/dev/null\nLANG=C.UTF-8\nBULKHEAD_RUN=…\n')
})

it('sets HOME to a path where not even root can create files', async () => {
  setup.sh('settle', 'mkdir -p "$HOME/.config" 2>/dev/null; echo $?; ls "$HOME/.config" 2>/dev/null; echo $?')
  const { shell } = setup.open({ shell: any('settle') })
  expect((await shell.run('settle')).stdout).toMatch(/^[1-9]\d*\n[1-9]\d*\n$/)
})

it('gives a command the three standard descriptors only', async () => {
  writeFileSync(join(setup.root, 'opened'), 'secret')
  const descriptor = openSync(join(setup.root, 'opened'), 'r')
  try {
    const { shell } = setup.open({ shell: any('ls') })
    const { stdout } = await shell.run('ls', ['-l', '/proc/self/fd'])
    const open = [...stdout.matchAll(/(\d+) -> (.+)$/gm)].map(([, number, target]) =>
      `${number} ${target!.replace(/\d+/g, 'N')}`)
    // Ignores the listed folder itself and masked descriptors.
    const listed = open.filter((line) => !/^\d+ (\/proc\/N\/fd|\/dev\/null)$/.test(line))
    expect(listed).toEqual(['1 socket:[N]', '2 socket:[N]'])
    expect(open).toContain('0 /dev/null')
  } finally {
    closeSync(descriptor)
  }
})

it('does not pass on a descriptor that the host inherited, even after a shortage of descriptors', async () => {
  const secret = join(setup.root, 'secret')
  writeFileSync(secret, 'from the parent of the host')
  const descriptor = openSync(secret, 'r')
  // Node does not close inherited descriptors beyond the first gap.
  const stdio: ('ignore' | 'pipe' | 'inherit' | number)[] = Array.from({ length: 41 }, () => 'ignore')
  stdio[1] = 'pipe'
  stdio[2] = 'inherit'
  stdio[40] = descriptor
  const fixture = join(import.meta.dirname, 'fixtures/descriptor-host.ts')
  const script = 'ulimit -n 512; exec "$0" "$@"'
  const host = spawn('/bin/sh', ['-c', script, process.execPath, fixture, setup.workspace], { stdio })
  closeSync(descriptor)
  const [held, passedOn, later] = (await text(host.stdout!)).trim().split('\n')
  expect(held, 'the host has it').toBe(secret)
  expect(passedOn, 'the command has nothing there').toBe('/dev/null')
  expect(later, 'nor one after the shortage').toBe('/dev/null')
})
