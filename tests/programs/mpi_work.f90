! SPDX-License-Identifier: Apache-2.0
! Two ranks that send each other numbers, and add them up.
program mpi_work
  use mpi
  implicit none
  integer :: rank, size, ierr, next, before, got, i
  integer :: status(MPI_STATUS_SIZE)
  real(8) :: a, b
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  next = mod(rank + 1, size); before = mod(rank + size - 1, size)
  do i = 1, 10
    if (rank == 0) then
      call MPI_Send(rank, 1, MPI_INTEGER, next, 7, MPI_COMM_WORLD, ierr)
      call MPI_Recv(got, 1, MPI_INTEGER, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    else
      call MPI_Recv(got, 1, MPI_INTEGER, before, 7, MPI_COMM_WORLD, status, ierr)
      call MPI_Send(rank, 1, MPI_INTEGER, next, 7, MPI_COMM_WORLD, ierr)
    end if
    a = rank
    call MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  end do
  if (rank == 0) print *, a
  call MPI_Finalize(ierr)
end program
