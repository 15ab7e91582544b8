import { getCACertificates } from 'node:tls'

const OWN = 'authority.pem'
const ALL = 'authorities.pem'

/** Variables that add authorities to those that a program has. */
const ADDING = ['NODE_EXTRA_CA_CERTS', 'DENO_CERT']
/** Variables that replace them. */
const REPLACING = [
  'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'npm_config_cafile', 'PIP_CERT',
  'AWS_CA_BUNDLE', 'CARGO_HTTP_CAINFO', 'BUNDLE_SSL_CA_CERT', 'NIX_SSL_CERT_FILE', 'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
  'HTTPLIB2_CA_CERTS',
]

/** The files that let programs trust one more authority, by name. */
export function trustFiles(certificate: string): ReadonlyMap<string, string> {
  const [system, extra] = [getCACertificates('system'), getCACertificates('extra')]
  const roots = system.length > 0 ? system : getCACertificates('bundled')
  const text = (all: readonly string[]): string => all.map((one) => `${one.trim()}\n`).join('')
  return new Map([[OWN, text([certificate, ...extra])], [ALL, text([certificate, ...extra, ...roots])]])
}

/** The variables that name these files. `folder`: where the program sees them. */
export const trustVariables = (folder: string): Readonly<Record<string, string>> => Object.fromEntries([
  ...ADDING.map((name) => [name, `${folder}/${OWN}`] as const),
  ...REPLACING.map((name) => [name, `${folder}/${ALL}`] as const),
])
