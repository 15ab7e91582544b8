/**
 * Names that a wide pattern does not include, because other programs run the content later without asking. Each name
 * covers itself and everything below it, anywhere in a granted folder.
 */
const NAMED: ReadonlySet<string> = new Set([
  // A repository: hooks and settings name programs.
  '.git',
  // Shells run these when they start, end, or enter the folder.
  '.profile', '.bash_profile', '.bash_login', '.bash_logout', '.bashrc', '.bash_aliases', '.zshenv', '.zprofile',
  '.zshrc', '.zlogin', '.zlogout', '.kshrc', '.mkshrc', '.cshrc', '.tcshrc', '.login', '.logout', 'config.fish',
  'microsoft.powershell_profile.ps1', '.envrc',
  // Editors run programs that these name when they open a folder.
  '.vscode', '.idea', '.zed', '.fleet', '.vimrc', '.exrc', '.nvimrc', '.nvim.lua', '.dir-locals.el',
])
const NAMED_ENDING = '.code-workspace'

/** Why a matching pattern may not be enough to read or write a path. */
export type Protection =
  | { readonly strength: 'never' }
  /** The pattern must name it. `at`: the index of the name in the path. `reveals`: it is protected from reading. */
  | { readonly strength: 'named'; readonly name: string; readonly at: number; readonly reveals?: true }

/** Places that a pattern covers only if it names them. */
export interface NamedPlaces {
  /** In an absolute path with `/` between names. `root`: the folder that the operator chose; names up to it are free. */
  find(path: string, root: string): Protection | undefined
  /** Whether a segment of a pattern can name such a place. */
  names(segment: string): boolean
}

const NEVER: Protection = Object.freeze({ strength: 'never' })

/** Whether a file system might treat a name as one of those above. */
export const mustBeNamed = (name: string): boolean => {
  const plain = looseName(name)
  return NAMED.has(plain) || plain.endsWith(NAMED_ENDING)
}

/**
 * One spelling for all names that some file system treats as equal: either case, composed or not, with characters that
 * some systems ignore, and with trailing dots and spaces.
 */
export function looseName(name: string): string {
  const plain = /^[\x20-\x7e]*$/.test(name)
    ? name : name.normalize('NFKC').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
  return plain.toLowerCase().replace(/(?<![. ])[. ]+$/, '')
}

/** Places that are not written. */
export class ProtectedPlaces implements NamedPlaces {
  readonly #never: readonly Place[]

  /**
   * `never`: absolute paths that no tool may write, including everything below them. One that ends in `-` includes
   * every name that begins with it: the files beside a database.
   */
  constructor(never: readonly string[]) {
    this.#never = never.map((path) => {
      const names = looseSegments(path)
      return { above: names.slice(0, -1), name: names.at(-1) ?? '', begins: path.endsWith('-') }
    })
  }

  names(segment: string): boolean {
    return !segment.includes('*') && mustBeNamed(segment)
  }

  find(path: string, root: string): Protection | undefined {
    const names = looseSegments(path)
    const isAtOrBelow = ({ above, name, begins }: Place): boolean => {
      const found = names[above.length]
      if (found === undefined) return name === ''
      return (begins ? found.startsWith(name) : found === name || name === '')
        && above.every((each, at) => each === names[at])
    }
    if (this.#never.some(isAtOrBelow)) return NEVER
    const at = placeIndex(names, looseSegments(root).length, mustBeNamed)
    return at < 0 ? undefined : { strength: 'named', name: names[at]!, at }
  }
}

interface Place {
  readonly above: readonly string[]
  /** Empty for the root of the file system. */
  readonly name: string
  /** Whether names that only begin with it are included. */
  readonly begins: boolean
}

/**
 * The index of the first name, from `from` on, that is one of those, or that begins one of the places. Each place
 * includes what is below it.
 */
export const placeIndex = (
  names: readonly string[], from: number, isNamed: (name: string) => boolean,
  places: readonly (readonly string[])[] = [], fits: (place: string, name: string) => boolean = (a, b) => a === b,
): number => names.findIndex((name, index) => index >= from && (isNamed(name)
  || places.some((place) => place.every((each, next) =>
    names[index + next] !== undefined && fits(each, names[index + next]!)))))

export const looseSegments = (path: string): readonly string[] => path.split('/').filter((name) => name !== '').map(looseName)

/** For a person or a model: why the path is protected, and what to do instead. Continues the path. */
export function protectionReason(protection: Protection): string {
  if (protection.strength === 'never') {
    return 'holds code, settings or records of the host, which no tool writes. Have the person change it'
  }
  return protection.reveals
    ? `is not read without being named, because "${protection.name}" can hold credentials or variables`
    : `is not written without being named, because other programs run the content of "${protection.name}". `
      + 'Change it with a command of the program it belongs to, or have the person change it'
}
