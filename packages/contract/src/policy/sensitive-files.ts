import { matchSegment } from '@bulkhead/kit/glob'
import { looseName, looseSegments, placeIndex, type NamedPlaces } from './protected-places.ts'

/** Credentials and histories in a home folder. Commands do not see them. */
export const CREDENTIALS: readonly string[] = [
  '.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker', '.config/gcloud', '.config/gh', '.password-store', '.mozilla',
  '.netrc', '.npmrc', '.pypirc', '.git-credentials', '.pgpass', '.bash_history', '.zsh_history',
]

/** Variables of a project, and everything that begins so. */
const VARIABLES = '.env'
const VARIABLE_FILES = [
  VARIABLES, ...['local', 'development', 'test', 'production', 'staging'].map((stage) => `${VARIABLES}.${stage}`),
]

/** Files and folders with credentials or variables, as names from any folder. Each includes what is below it. */
const PLACES = [...CREDENTIALS, ...VARIABLE_FILES].map((path) => path.split('/'))

/** Places whose content reveals credentials or variables. A wide pattern does not read them. */
export const SENSITIVE: NamedPlaces & { readonly examples: readonly (readonly string[])[] } = {
  examples: PLACES,
  names: (segment) => !/^\**$/.test(segment),
  find(path, root) {
    const names = looseSegments(path)
    const at = placeIndex(names, looseSegments(root).length, (name) => name.startsWith(VARIABLES), PLACES)
    return at < 0 ? undefined : { strength: 'named', name: names[at]!, at, reveals: true }
  },
}

/**
 * Whether a path pattern is about files with credentials or variables: one of its segments, more than a wildcard, fits
 * the name of such a file. A wide pattern such as `**` names nothing, and the broker does not read such a file for it.
 */
export function namesSensitiveFiles(pattern: string): boolean {
  const segments = pattern.split('/').map(looseName)
  return segments.some((segment, at) => SENSITIVE.names(segment)
    && (segment.startsWith(VARIABLES) || PLACES.some((place) => fits(segments.slice(at), place))))
}

/** A pattern of a folder includes what is below it. */
function fits(segments: readonly string[], place: readonly string[]): boolean {
  return place.every((name, index) => {
    const segment = segments[index]
    return segment === undefined || segment === '**' || matchSegment(segment, name)
  })
}
