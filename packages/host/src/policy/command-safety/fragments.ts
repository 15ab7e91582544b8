/**
 * Parts of patterns for command lines of any shell. They match where a command can begin, so that a text that only
 * mentions a command does not match: `git log --grep "rm -rf /"` removes nothing.
 */
const BACKTICK = '`'
const WRAPPERS = 'sudo|doas|env|nohup|nice|ionice|time|timeout|exec|eval|xargs|command|builtin|busybox|then|do|else'
  + '|stdbuf|setsid'
/** Options of a wrapper, the user of `-u`, and variables that are set for it. */
const WRAPPER_WORDS = String.raw`(?:-u\s+\S+|-\S*|\w+=\S*|\d\S*)\s+`
const BEGINS = String.raw`(?:^|[\n;&|(){}${BACKTICK}]|\s-l?c\s*\\?["']|<\()\s*`

/** One of these patterns. */
export const anyOf = (...patterns: readonly string[]): string => `(?:${patterns.join('|')})`

/** Matches up to a command with one of these names, with any path. */
export const command = (...names: readonly string[]): string =>
  String.raw`${BEGINS}(?:(?:\w+=\S*|(?:${WRAPPERS})\s+(?:${WRAPPER_WORDS})*)\s*)*["'\\]?`
  + String.raw`(?:[\w.~-]*/)*${anyOf(...names)}["']?`

/** Any words of the same command. */
export const WORDS = String.raw`(?:\s+[^\s;&|]+)*?`
/** The end of a word. */
export const END = String.raw`["']?(?:[\s;&|)${BACKTICK}"']|$)`
/** Anything on the same line, pipes too. */
export const LINE = String.raw`[^\n]*`

/** Disks as device files. */
export const DISK = '/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper/|dm-|md)'
const SYSTEM_FOLDERS = 'bin|boot|dev|etc|home|lib|lib64|opt|proc|root|sbin|sys|usr|var'
  + '|System|Library|Users|Applications'
/** The root of a system, or a folder that it needs. */
export const SYSTEM_ROOT = String.raw`["']?/(?:\*|\.|(?:${SYSTEM_FOLDERS})(?:/\*?)?)?`
/** The home folder of a user. */
export const HOME = String.raw`["']?(?:~|\$\{?HOME\}?)(?:/\*?|/\.\*)?`
/** Files that hold credentials. */
export const CREDENTIALS = anyOf(
  String.raw`\.ssh/(?:id_|identity)`, String.raw`\.ssh/?["']?(?:\s|$)`, String.raw`\.aws/credentials`,
  String.raw`\.(?:netrc|npmrc|pypirc|pgpass|git-credentials|gnupg)`,
  String.raw`\.docker/config\.json`, String.raw`\.kube/config`, String.raw`\.config/gcloud`, '/etc/g?shadow',
)
/** Programs that send data elsewhere. */
export const SENDERS = 'curl|wget|nc|ncat|netcat|socat|telnet|ftp|sftp|scp|rsync|http'
/** Programs that run a text that they are given. */
export const INTERPRETERS = 'sh|bash|zsh|dash|ksh|fish|ash|python[0-9.]*|perl|ruby|node|php|pwsh'

/** Writes to the file that follows. */
export const INTO_FILE = String.raw`(?:>|\btee\s+(?:-\w+\s+)*)\s*["']?`
