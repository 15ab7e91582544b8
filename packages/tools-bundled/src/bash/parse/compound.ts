import type { Command, PipelineNode, Statement, Subshell, While } from 'unbash'
import { NeedsShell } from './needs-shell.ts'
import { isPlain, type EachStep, type GroupStep, type Step, type When } from './plan.ts'
import { readRedirects } from './redirects.ts'
import type { Scope } from './scope.ts'
import { readWords } from './word.ts'

type ReadList = (list: { readonly commands: readonly Statement[] }, scope: Scope) => readonly Step[]

export const readGroup = ({ body }: Subshell, when: When, scope: Scope, read: ReadList): GroupStep =>
  ({ kind: 'group', when, steps: read(body, scope) })

/** A loop over words, or over the lines of a file; undefined for any other form. Contract: throws NeedsShell. */
export function readEach(node: PipelineNode, when: When, scope: Scope, read: ReadList): EachStep | undefined {
  if (node.type === 'For') {
    const { name: { text: name }, wordlist, body } = node
    if (wordlist === undefined || !PLAIN_NAME.test(name)) throw new NeedsShell('a loop')
    const over = wordlist.flatMap((word) => readWords(word, scope))
    // Names of files are looped over to read these; other words mostly to compute with them.
    if (over.some(isPlain)) throw new NeedsShell('a loop')
    return { kind: 'each', when, name, over, steps: bodySteps(body, scope.inLoop(name), read) }
  }
  if (node.type !== 'Redirected' || node.command.type !== 'While') return undefined
  const name = lineVariable(node.command)
  const { stdin, stdout, stderr } = readRedirects(node.redirects)
  if (name === undefined || stdin === undefined || !('file' in stdin) || stdout !== 'out' || stderr !== 'err') throw new NeedsShell('a loop')
  return { kind: 'each', when, name, over: { file: stdin.file }, steps: bodySteps(node.command.body, scope.inLoop(name), read) }
}

/** Lower case: no variable that steers a shell or a program. */
const PLAIN_NAME = /^[a-z][a-z0-9_]*$/

function bodySteps(body: While['body'], scope: Scope, read: ReadList): readonly Step[] {
  const steps = read(body, scope)
  // The next turn would begin in another folder.
  if (steps.some(({ kind }) => kind === 'cd')) throw new NeedsShell('a loop that changes its folder')
  return steps
}

/** Of `while read -r line`. */
function lineVariable({ kind, clause: { commands } }: While): string | undefined {
  const [statement, ...more] = commands
  if (kind !== 'while' || statement?.command.type !== 'Command' || more.length > 0) return undefined
  const command: Command = statement.command
  if (command.prefix.length > 0 || command.redirects.length > 0 || command.name?.text !== 'read') return undefined
  const words = command.args.map(({ text }) => text)
  const name = words[0] === '-r' ? words[1] : words[0]
  return words.length === (words[0] === '-r' ? 2 : 1) && PLAIN_NAME.test(name ?? '') ? name : undefined
}
