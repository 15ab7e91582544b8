/** Something a person has to act on. Contract: the message says what happened, the cure says what to do. */
export class SetupFailure extends Error {
  /**
   * @param {string} message
   * @param {string} cure
   */
  constructor(message, cure) {
    super(message)
    this.name = 'SetupFailure'
    this.cure = cure
  }

  /** @returns {string} */
  describe() {
    return `\n✗ ${this.message}\n  Cure: ${this.cure.split('\n').join('\n        ')}\n`
  }
}

/** The setup was asked to stop; what it was doing has been undone or will be done again by the next run. */
export class Interrupted extends Error {
  /** @param {NodeJS.Signals} signal */
  constructor(signal) {
    super(`interrupted by ${signal}`)
    this.name = 'Interrupted'
    this.signal = signal
  }
}

const AGAIN = 'then run the same command again.'

/**
 * From the most telling cause to the least: a broken certificate and a missing package also look like a failed fetch.
 * @type {readonly { signs: RegExp, what: string, cure: string }[]}
 */
const CAUSES = [
  {
    signs: /ERR_PNPM_OUTDATED_LOCKFILE|ERR_PNPM_FROZEN_LOCKFILE|ERR_PNPM_NO_LOCKFILE/,
    what: 'pnpm-lock.yaml does not fit the package.json files',
    cure: `run \`pnpm install\` (it is in .tools) and commit pnpm-lock.yaml with the package.json it belongs to, ${AGAIN}`,
  },
  {
    signs: /SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER|UNABLE_TO_VERIFY_LEAF|CERT_HAS_EXPIRED|ERR_TLS_CERT|invalid peer certificate/i,
    what: 'the registry’s certificate is not trusted',
    cure: `name the authority of your network (\`npm config set cafile /path/to/ca.pem\`), ${AGAIN}`,
  },
  {
    signs: /ENOSPC|No space left on device/,
    what: 'the disk is full',
    cure: `free about 1 GB, ${AGAIN}`,
  },
  {
    signs: /EACCES|EPERM|EROFS|Permission denied|Read-only file system/,
    what: 'a file or folder could not be written',
    cure: `make this folder and your home folder writable for you (an earlier run with sudo may own files in them), ${AGAIN}`,
  },
  {
    signs: /E404|ERR_PNPM_FETCH_404|ETARGET|ERR_PNPM_NO_MATCHING_VERSION/,
    what: 'the registry in use does not have a package that is needed',
    cure: `use a registry that mirrors all of npm (\`npm config set registry https://…\`), ${AGAIN}`,
  },
  {
    signs: new RegExp(
      [
        'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|ENOTCACHED',
        'ERR_PNPM_META_FETCH_FAIL|ERR_PNPM_\\w*NETWORK_ERROR|ERR_PNPM_FETCH_|ERR_PNPM_NO_OFFLINE',
        'error sending request|dns error|failed to lookup address|Connection refused|network is unreachable',
      ].join('|'),
      'i',
    ),
    what: 'the npm registry could not be reached',
    cure: [
      'connect to the network (only the first run needs it).',
      'Behind a proxy, name it: `export HTTPS_PROXY=http://host:port`.',
      `With a mirror, name that: \`npm config set registry https://…\`. ${AGAIN.replace('then', 'Then')}`,
    ].join('\n'),
  },
]

/**
 * Reads a package manager's own output for the cause of its failure.
 * @param {string} what did not work, as the beginning of a sentence
 * @param {string} output everything the package manager printed
 * @param {string} otherwise the cure when the output names no known cause
 * @returns {SetupFailure}
 */
export function failureOf(what, output, otherwise) {
  const cause = CAUSES.find(({ signs }) => signs.test(output))
  return cause ? new SetupFailure(`${what}: ${cause.what}.`, cause.cure) : new SetupFailure(`${what}.`, otherwise)
}
