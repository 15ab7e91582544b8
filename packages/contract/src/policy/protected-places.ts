/**
 * Places that a pattern does not include by being wide. What is written there runs later, as the person and with no question.
 * Each name stands for itself and for all below it, wherever in a granted folder it lies.
 */
const NAMED: ReadonlySet<string> = new Set([
  // A repository: its hooks and its settings name programs.
  '.git',
  // Shells run these when they start, end, or enter the folder.
  '.profile', '.bash_profile', '.bash_login', '.bash_logout', '.bashrc', '.bash_aliases', '.zshenv', '.zprofile', '.zshrc', '.zlogin', '.zlogout',
  '.kshrc', '.mkshrc', '.cshrc', '.tcshrc', '.login', '.logout', 'config.fish', 'microsoft.powershell_profile.ps1', '.envrc',
  // Editors run what these name when a folder is opened.
  '.vscode', '.idea', '.zed', '.fleet', '.vimrc', '.exrc', '.nvimrc', '.nvim.lua', '.dir-locals.el',
])
const NAMED_ENDING = '.code-workspace'

/** Why a pattern that covers a path may not be enough to write there. */
export type Protection =
  | { readonly strength: 'never' }
  /** Only by a pattern that has the name as a segment of its own. `at`: which segment of the path that is. */
  | { readonly strength: 'named'; readonly name: string; readonly at: number }

const NEVER: Protection = Object.freeze({ strength: 'never' })

/** Whether a file system might take a name for one of those that must be named. */
export const mustBeNamed = (name: string): boolean => {
  const plain = looseName(name)
  return NAMED.has(plain) || plain.endsWith(NAMED_ENDING)
}

/**
 * One spelling for all that any file system takes for one name. Wider than each of them, so that no spelling passes by:
 * letters of either case, composed or not, characters that some systems ignore, and dots and spaces at the end.
 */
export function looseName(name: string): string {
  const plain = /^[\x20-\x7e]*$/.test(name) ? name : name.normalize('NFKC').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
  return plain.toLowerCase().replace(/(?<![. ])[. ]+$/, '')
}

/** The places that are protected against being written, for absolute paths with `/` between names. */
export class ProtectedPlaces {
  readonly #never: readonly (readonly string[])[]

  /** `never`: absolute paths that are not written, nor anything below them, whatever pattern covers them. */
  constructor(never: readonly string[]) {
    this.#never = never.map(looseSegments)
  }

  /** `root`: the folder the operator chose. Names up to there are the operator's own. */
  find(path: string, root: string): Protection | undefined {
    const names = looseSegments(path)
    if (this.#never.some((place) => place.length <= names.length && place.every((name, at) => name === names[at]))) return NEVER
    const from = looseSegments(root).length
    const at = names.findIndex((name, index) => index >= from && mustBeNamed(name))
    return at < 0 ? undefined : { strength: 'named', name: names[at]!, at }
  }
}

const looseSegments = (path: string): readonly string[] => path.split('/').filter((name) => name !== '').map(looseName)

/** For a person or a model: what is wrong with writing there, and what to do instead. */
export const protectionReason = (protection: Protection): string => protection.strength === 'never'
  ? 'holds code or settings of the host, which no tool writes. Have the person change it'
  : `is not written without being named, because other programs run what "${protection.name}" says. `
    + 'Change it with a command of the program it belongs to, or have the person change it'
