export interface SplitPattern {
  readonly pattern: string
  readonly path: string
}

/** A pattern from the top of everything is one below the folders it begins with. */
export function splitPattern(pattern: string, path = '.'): SplitPattern {
  if (!pattern.startsWith('/')) return { pattern, path }
  const names = pattern.split('/').filter((name) => name !== '')
  const wild = names.findIndex((name) => /[*?[{]/.test(name))
  const folders = Math.max(0, wild < 0 ? names.length - 1 : wild)
  return { path: `/${names.slice(0, folders).join('/')}`, pattern: names.slice(folders).join('/') || '*' }
}
