import { matchSegment } from '@bulkhead/kit/glob'
import { looseName } from './protected-places.ts'

/** Credentials and histories in a home folder. Commands do not see them. */
export const CREDENTIALS: readonly string[] = [
  '.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker', '.config/gcloud', '.config/gh', '.password-store', '.mozilla',
  '.netrc', '.npmrc', '.pypirc', '.git-credentials', '.pgpass', '.bash_history', '.zsh_history',
]

/** Variables of a project, in the names that tools give to these files. */
const VARIABLES = '.env'
const VARIABLE_FILES = [
  VARIABLES, ...['local', 'development', 'test', 'production', 'staging'].map((stage) => `${VARIABLES}.${stage}`),
]

const PLACES = [...CREDENTIALS, ...VARIABLE_FILES].map((path) => path.split('/'))

/**
 * Whether a path pattern is about files with credentials or variables: one of its segments, more than a wildcard, fits
 * the name of such a file. A wide pattern such as `**` names nothing.
 */
export function namesSensitiveFiles(pattern: string): boolean {
  const segments = pattern.split('/').map(looseName)
  return segments.some((segment, at) => !/^\**$/.test(segment)
    && (segment.startsWith(VARIABLES) || PLACES.some((place) => fits(segments.slice(at), place))))
}

/** A pattern of a folder includes what is below it. */
function fits(segments: readonly string[], place: readonly string[]): boolean {
  return place.every((name, index) => {
    const segment = segments[index]
    return segment === undefined || segment === '**' || matchSegment(segment, name)
  })
}
