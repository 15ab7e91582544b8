import type { Word } from '../parse/plan.ts'
import { wordList } from '../parse/word-list.ts'
import { opaque, runs, type Wrapped } from './unwrap.ts'

/** Options whose value is a command, by program. */
const OPTIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ['tar', wordList(
    '--to-command -I --use-compress-program --checkpoint-action -F --info-script --new-volume-script --rsh-command --rmt-command',
  )],
  ['rsync', ['-e', '--rsh', '--rsync-path']],
  ['scp', ['-S', '-o']],
  ['sftp', ['-S', '-o']],
  ['sort', ['--compress-program']],
  ['rg', ['--pre', '--hostname-bin']],
  ['man', ['-P', '--pager', '-H', '--html']],
  ['ssh', ['-o']],
  ['make', ['--eval']],
  ['split', ['--filter']],
  ['zip', ['-TT', '--unzip-command']],
  ['wget', ['--use-askpass']],
  ['vim', ['-c', '--cmd', '-S']],
  ['nvim', ['-c', '--cmd', '-S']],
  ['ctags', ['--options']],
])

/** Commands handed over in an option; undefined when there are none. */
export function optionScripts(name: string, args: readonly Word[]): Wrapped | undefined {
  const options = OPTIONS.get(name)
  if (options === undefined) return undefined
  const scripts = args.flatMap(({ text }, index) => {
    const option = options.find((known) => text === known || text.startsWith(known.startsWith('--') ? `${known}=` : known))
    if (option === undefined) return []
    const value = text === option ? args[index + 1]?.text ?? '' : text.slice(option.length).replace(/^=/, '')
    return [value.replace(/^(?:exec|ProxyCommand|LocalCommand)=/, '')]
  })
  return scripts.length === 0 ? undefined : opaque([], scripts)
}

/** Subcommands of git that run a command of theirs. */
const RUNNING = /^(?:submodule foreach|bisect run)$/
const EXECUTING: ReadonlySet<string> = new Set(wordList(
  '-x --exec --extcmd --upload-pack --receive-pack -O --open-files-in-pager --tree-filter --index-filter --msg-filter '
    + '--env-filter',
))

/** What git was told to run: by its configuration, by an option, or by a subcommand that is made for it. */
export function gitScripts(args: readonly Word[]): Wrapped | undefined {
  const scripts = args.flatMap(({ text }, index) => {
    const next = args[index + 1]?.text ?? ''
    if (text === '-c' || text === '--config-env') return [next.slice(next.indexOf('=') + 1).replace(/^!/, '')]
    if (EXECUTING.has(text) || (text === '-u' && args.some((word) => word.text === 'clone'))) return [next]
    const option = [...EXECUTING].find((name) => name.startsWith('--') && text.startsWith(`${name}=`))
    return option === undefined ? [] : [text.slice(option.length + 1)]
  })
  const at = args.findIndex(({ text }, index) => index > 0 && RUNNING.test(`${args[index - 1]!.text} ${text}`))
  const command = at < 0 ? [] : args.slice(at + 1).filter(({ text }) => text !== '--recursive')
  const inner = command.length === 0 ? [] : [runs(command, true)]
  const joined = command.length === 0 ? [] : [command.map(({ text }) => text).join(' ')]
  return scripts.length + inner.length === 0 ? undefined : opaque(inner, [...scripts, ...joined])
}
