import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import type { ArgPattern, ShellRequirement } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { NO_GRANT } from '@bulkhead/contract'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { checkRequest, readRequest } from '../../src/shell/request.ts'
import { any, ShellSetup } from './shell-setup.ts'

const setup = new ShellSetup()
afterAll(() => setup.clear())
setup.sh('argv', String.raw`[ $# = 0 ] || printf '%s\0' "$@"`)
const argumentsIn = (stdout: string): string[] => stdout.split('\0').slice(0, -1)

describe('arguments of a command', () => {
  it('reach the program unchanged', async () => {
    const args = Object.values({
      spaces: ['a b', ' ', ''],
      quotes: ['"', '\'', '"x" \'y\''],
      'shell expansions': ['$(id)', '`id`', '$HOME', '~', '*', '{a,b}'],
      'shell operators': ['; rm -rf x', '&& id', '| cat', '> file', '&'],
      'line ends': ['a\nb', '\r\n', '\t'],
      options: ['--', '-rf', '--version'],
      'other scripts': ['żółw', '漢字', '🚢'],
      'control characters': ['\u0001\u001b[2J\u007f'],
    }).flat()
    const { shell } = setup.open({ shell: any('argv', args.length) })
    const { stdout, ...rest } = await shell.run('argv', args)
    expect(argumentsIn(stdout)).toEqual(args)
    expect(rest).toEqual({ exitCode: 0, signal: null, stderr: '', truncated: false })
  })

  it('may be empty', async () => {
    const { shell } = setup.open({ shell: [{ cmd: 'argv' }] })
    expect((await shell.run('argv')).stdout).toBe('')
  })
})

describe('the grant of a command', () => {
  const grant: ShellRequirement[] = [
    { cmd: 'argv', args: ['status', { prefix: '--format=' }, { wildcard: true }] },
    { cmd: 'argv', args: ['log'] },
    { cmd: 'bare' },
  ]
  const { shell } = setup.open({ shell: grant })

  it.each([
    ['the first pattern', 'argv', ['status', '--format=x', 'anything']],
    ['another pattern', 'argv', ['log']],
    ['an empty rest of a prefix and an empty wildcard', 'argv', ['status', '--format=', '']],
  ])('allows %s', async (_, cmd, args) => {
    expect(argumentsIn((await shell.run(cmd, args)).stdout)).toEqual(args)
  })

  it.each([
    ['another command', 'env', []],
    ['an empty command', '', []],
    ['a path to an allowed command', `${setup.bin}/argv`, ['log']],
    ['a relative path to it', './argv', ['log']],
    ['its name in upper case', 'ARGV', ['log']],
    ['an argument too many', 'argv', ['log', '--all']],
    ['an argument too few', 'argv', ['status', '--format=x']],
    ['arguments of a command that takes none', 'bare', ['x']],
    ['another order', 'argv', ['--format=x', 'status', 'y']],
    ['part of the prefix', 'argv', ['status', '--format', 'y']],
    ['a character before the prefix', 'argv', ['status', ' --format=x', 'y']],
    ['a longer string than an exact argument', 'argv', ['logs']],
    ['two arguments in one', 'argv', ['status --format=x y']],
  ])('denies %s', async (_, cmd, args) => {
    await expect(shell.run(cmd, args))
      .rejects.toMatchObject({ code: 'CapabilityDenied', data: { power: 'shell', cmd } })
  })

  it('denies a path even if the grant contains it', async () => {
    const cmd = `${setup.bin}/argv`
    await expect(setup.open({ shell: [{ cmd }] }).shell.run(cmd)).rejects.toMatchObject({ code: 'CapabilityDenied' })
  })
})

describe('the limits of a command', () => {
  it.each<[string, Json[]]>([
    ['a NUL', ['argv', ['a\0b']]],
    ['an unpaired surrogate', ['argv', ['\ud800']]],
    ['a number', ['argv', [1]]],
    ['arguments that are not an array', ['argv', 'x']],
    ['too many arguments', ['argv', Array<string>(1_025).fill('x')]],
    ['an argument that is too long', ['argv', ['x'.repeat(128 * 1024)]]],
    ['arguments that are too long together', ['argv', Array<string>(3).fill('é'.repeat(22_000))]],
    ['a command that is not a string', [null, []]],
    ['a command that is too long', ['x'.repeat(129), []]],
    ['options that are not an object', ['argv', [], 'x']],
    ['a folder that is not a string', ['argv', [], { cwd: 1 }]],
    ['input that is not a string', ['argv', [], { input: {} }]],
    ['too much input', ['argv', [], { input: 'x'.repeat(1024 * 1024 + 1) }]],
  ])('reject %s', (_, given) => {
    expect(() => readRequest(given)).toThrow(expect.objectContaining({ code: 'InputInvalid' }))
  })

  it('allow the longest arguments', async () => {
    const { shell } = setup.open({ shell: any('argv') })
    const longest = 'x'.repeat(128 * 1024 - 2)
    expect(argumentsIn((await shell.run('argv', [longest])).stdout)).toEqual([longest])
  })
})

it('agrees with an independent oracle', () => {
  // Few letters, so that patterns and arguments match often, with characters of regular expressions.
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '-', '.', '*', '\n', ' '), maxLength: 4 })
  const pattern: fc.Arbitrary<ArgPattern> = fc.oneof(
    text,
    fc.constant({ wildcard: true } as const),
    text.filter((prefix) => prefix !== '').map((prefix) => ({ prefix })),
  )
  const command = fc.record({ cmd: fc.constantFrom('one', 'two'), args: fc.array(pattern, { maxLength: 3 }) })
  const literal = (value: string): string =>
    value.replace(/[^a-z]/g, (mark) => `\\x${mark.charCodeAt(0).toString(16).padStart(2, '0')}`)
  const argument = (arg: ArgPattern): string =>
    typeof arg === 'string' ? literal(arg) : `${'prefix' in arg ? literal(arg.prefix) : ''}[^\\0]*`
  const expression = ({ cmd, args }: { cmd: string; args: readonly ArgPattern[] }): RegExp =>
    new RegExp(`^${[cmd, ...args.map(argument)].join('\\0')}$`)
  let allowed = 0
  const asked = [fc.constantFrom('one', 'two', 'three'), fc.array(text, { maxLength: 3 })] as const
  fc.assert(fc.property(fc.array(command, { maxLength: 4 }), ...asked, (shell, cmd, args) => {
    const expected = shell.some((one) => expression(one).test([cmd, ...args].join('\0')))
    allowed += expected ? 1 : 0
    let isAllowed = true
    try {
      checkRequest({ name: 'tester', grant: { ...NO_GRANT, shell } }, { cmd, args })
    } catch {
      isAllowed = false
    }
    expect(isAllowed).toBe(expected)
  }), { numRuns: thoroughly(1_200, 20_000) })
  expect(allowed).toBeGreaterThan(thoroughly(15, 1_000))
})
