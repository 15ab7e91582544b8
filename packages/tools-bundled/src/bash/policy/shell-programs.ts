import type { Word } from '../parse/plan.ts'
import { opaque, unreadable, type Wrapped } from './unwrap.ts'

const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'mksh', 'ash', 'fish', 'rbash', 'csh', 'tcsh',
  'pwsh', 'powershell'])

/** Whether a shell reads a text: by `-c`, or from its input where it is named no file. */
export function readsShellText(name: string, args: readonly Word[]): boolean {
  if (!SHELLS.has(name)) return false
  return shellScript(name, args) !== undefined || args.some(({ text }) => text === '-s') || args.every(({ text }) => /^[-+]/.test(text))
}

/** The text a shell is given by `-c`, in any of the ways to write that; undefined when it is given none. */
export function shellScript(name: string, args: readonly Word[]): Wrapped | undefined {
  if (!SHELLS.has(name)) return undefined
  for (let index = 0; index < args.length; index++) {
    const { text, pattern } = args[index]!
    if (pattern !== undefined) return unreadable(args, `a word of \`${name}\` is a pattern`)
    if (text === '--command' || /^-[a-zA-Z]*c$/i.test(text)) {
      const script = args.slice(index + 1).find((word) => !/^[-+]/.test(word.text))
      return script === undefined ? unreadable(args, `\`${name} -c\` without a text`) : opaque([], [script.text])
    }
    if (text.startsWith('--command=')) return opaque([], [text.slice('--command='.length)])
    if (text === '-o' || text === '+o' || text === '--rcfile' || text === '--init-file') index++
    else if (!/^[-+]/.test(text)) return undefined
  }
  return undefined
}
