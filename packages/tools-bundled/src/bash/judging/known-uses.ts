import type { Word } from '../reading/plan.ts'
import { findUse } from './find.ts'
import { gitUse } from './git.ts'
import { wordInside, type Ground } from './ground.ts'
import { knownUse, type KnownUse, type OptionList } from './option-list.ts'
import { READING_PROGRAMS } from './reading-programs.ts'

/** A way to use a program that only reads, inside the workspace. */
export interface ReadingUse extends KnownUse {
  /** What an approval of it stands for: the program, with its subcommand. */
  readonly key: string
}

const JQ: OptionList = {
  flags: ['-r', '-c', '-S', '-e', '-n', '-s', '-j', '-M', '-a', '--raw-output', '--compact-output', '--sort-keys', '--slurp',
    '--null-input', '--exit-status', '--tab'],
  operands: 'text-then-paths',
}
const SED: OptionList = { flags: ['-n', '-E', '-r', '--quiet', '--silent'], operands: 'text-then-paths' }
/** Lines, printed. Its language can write files and run programs. */
const SED_PRINT = /^(?:\d+|\$)(?:,(?:\d+|\$))?p$/
const TEST_WORDS = /^(?:-[abcdefghknprstuwxzGLNOS]|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef|o)|=|==|!=|!|<|>)$/

const USES: ReadonlyMap<string, (args: readonly Word[], ground: Ground) => KnownUse | undefined> = new Map([
  ['find', (args) => findUse(args)],
  ['jq', (args) => {
    const use = knownUse(args, JQ)
    const program = args.find(({ text }) => !text.startsWith('-'))
    return use && program && !endsOptions(args) && !/\b(?:import|include)\b/.test(program.text) ? use : undefined
  }],
  ['sed', (args) => {
    const script = args.find(({ text }) => !text.startsWith('-'))
    return script && !endsOptions(args) && SED_PRINT.test(script.text) ? knownUse(args, SED) : undefined
  }],
  ['test', testUse],
  ['[', (args) => args.at(-1)?.text === ']' ? testUse(args.slice(0, -1)) : undefined],
])

const endsOptions = (args: readonly Word[]): boolean => args.some(({ text }) => text === '--')

function testUse(args: readonly Word[]): KnownUse | undefined {
  if (args.length > 4 || args.some(({ pattern }) => pattern !== undefined)) return undefined
  return { paths: args.filter(({ text }) => !TEST_WORDS.test(text) && /^[./]/.test(text)) }
}

export const isKnownProgram = (name: string): boolean => name === 'git' || USES.has(name) || READING_PROGRAMS.has(name)

/** undefined when the words are not one of the ways that are known to read only, or lead out of the workspace. */
export function readingUse([program, ...args]: readonly Word[], ground: Ground): ReadingUse | undefined {
  const name = program?.text ?? ''
  const use = useOf(name, args, ground)
  if (use === undefined) return undefined
  const inside = use.paths.every((word) => word.text === '-' || word.text === '/dev/null' || wordInside(word, ground))
  return inside ? use : undefined
}

function useOf(name: string, args: readonly Word[], ground: Ground): ReadingUse | undefined {
  if (name === 'git') {
    const use = gitUse(args, ground.folder)
    return use && { key: `git ${use.subcommand}`, paths: use.paths }
  }
  const list = READING_PROGRAMS.get(name)
  const use = list ? knownUse(args, list) : USES.get(name)?.(args, ground)
  return use && { key: name === '[' ? 'test' : name, paths: use.paths }
}
