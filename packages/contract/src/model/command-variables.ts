/** How programs reach the network, which certificates they accept, and in which language and time zone they write. */
const PROXY = /^(?:HTTPS?|FTP|ALL|NO)_PROXY$|^(?:https?|ftp|all|no)_proxy$|^NODE_USE_ENV_PROXY$/
const CERTIFICATES: ReadonlySet<string> = new Set([
  'SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS', 'NODE_USE_SYSTEM_CA', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE',
  'PIP_CERT', 'AWS_CA_BUNDLE', 'CARGO_HTTP_CAINFO', 'NIX_SSL_CERT_FILE',
])
const LANGUAGE = /^(?:LANG|LANGUAGE|LC_[A-Z]+|TZ)$/

/** Whether a variable says how to reach the network. */
export const isProxyVariable = (name: string): boolean => PROXY.test(name)

/** Whether a variable names files with certificates. */
export const isCertificateVariable = (name: string): boolean => CERTIFICATES.has(name)

/** Whether commands get a variable of the host unless a configuration says otherwise. */
export const isUsualVariable = (name: string): boolean =>
  isProxyVariable(name) || LANGUAGE.test(name) || isCertificateVariable(name)

/** An environment variable of commands, for people. */
export interface CommandVariable {
  readonly name: string
  /** Set by a configuration, and no secret. */
  readonly value?: string
  /** It contains a password, so only calls that a person or a rule allowed get it. */
  readonly guarded?: true
  /** A key. Commands that reach its host behind the wall `work` get a placeholder, and others nothing. */
  readonly key?: {
    /** With a port unless it is 443. */
    readonly host: string
    /** Whether the command in question gets it. */
    readonly given?: boolean
  }
}

/** Variables that make shells, linkers and interpreters load or run something else. */
const CODE: readonly RegExp[] = [
  /^(?:LD|DYLD|GIT|LUA|NODE_REPL)_.*$/,
  /^(?:BASH|PERL|PYTHON|RUBY).*$/,
  /^(?:ENV|SHELLOPTS|PS[0-4]|IFS|PROMPT_COMMAND|CDPATH|ZDOTDIR|FPATH)$/,
  /^(?:NODE_OPTIONS|NODE_PATH|NODE_V8_COVERAGE|PHPRC|PHP_INI_SCAN_DIR|CLASSPATH|MAKEFILES|MAKEFLAGS|RUSTC_WRAPPER)$/,
  /^(?:JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS)$/,
  /^(?:npm_config|NPM_CONFIG)_(?:node_options|NODE_OPTIONS|script_shell|SCRIPT_SHELL|git|GIT)$/,
  /^(?:GCONV_PATH|LOCPATH|NLSPATH|GLIBC_TUNABLES|RIPGREP_CONFIG_PATH)$/,
  /^(?:EDITOR|VISUAL|BROWSER|LESSOPEN|LESSCLOSE)$/,
  /(?:PAGER|_ASKPASS)$/,
]
/** Variables that the host sets for every command. */
const OF_HOST = /^(?:PATH|HOME|PWD|OLDPWD|BULKHEAD_.*)$/

/** For schemas. */
export const REFUSED_VARIABLES: readonly string[] = [...CODE, OF_HOST].map(({ source }) => source)

/** Why no configuration can give this variable to commands. undefined if one can. */
export function refusedVariable(name: string): string | undefined {
  if (OF_HOST.test(name)) return `the host sets ${name} for commands, and no configuration can change it`
  const isCode = CODE.some((pattern) => pattern.test(name))
  return isCode ? `${name} makes programs load or run other code, so commands never get it` : undefined
}

/** The environment of commands, as a configuration describes it. */
interface DescribedVariables {
  readonly env?: { readonly pass?: readonly string[]; readonly set?: Readonly<Record<string, string>> }
  readonly keys?: Readonly<Record<string, unknown>>
}

/** Keys that are variables of commands as well, which is refused. */
export const namedTwice = ({ env: { pass = [], set = {} } = {}, keys = {} }: DescribedVariables): readonly string[] =>
  Object.keys(keys).filter((name) => pass.includes(name) || Object.hasOwn(set, name))
