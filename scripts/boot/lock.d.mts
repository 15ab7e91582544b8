export type Lock = {
    /**
     * a child whose work must end before the lock counts as abandoned
     */
    include: (pid: number) => void;
    release: () => void;
};
/**
 * @typedef {object} Lock
 * @property {(pid: number) => void} include a child whose work must end before the lock counts as abandoned
 * @property {() => void} release
 */
/**
 * Waits until this process alone may change what the file stands for. A lock whose owner died is taken over, but only after
 * the child it had started ended as well: a package manager goes on when its parent is killed.
 * @param {string} file
 * @param {(pid: number | undefined) => void} onWait called once, before waiting for someone else
 * @returns {Promise<Lock>}
 */
export declare function acquireLock(file: string, onWait: (pid: number | undefined) => void): Promise<Lock>;
