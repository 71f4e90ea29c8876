// The rows of base/functions.def against the mpi.h that this library is built for. A row whose function mpi.h declares
// otherwise does not compile: another number of parameters, an int for a count, a value for an address.
#include <mpi.h>
#if __has_include(<mpi-ext.h>)  // of Open MPI
#include <mpi-ext.h>
#endif
#include <type_traits>

#include "mpi/real.hpp"
#include "mpi_config.h"

namespace tempi::signatures {
namespace {

// The rows as function types. Handle, Count and Aint are mpi.h's here; in some, Count and Aint differ.
enum class Handle : std::uintptr_t {};
using Count = MPI_Count;
using Aint = MPI_Aint;
using Offset = MPI_Offset;
struct Small {
  using Size = int;
  using Displacement = int;
  using Bytes = Aint;
#define TEMPI_SIGNED(name, parameters) using name = int parameters;
#include "base/functions.def"
};
struct Large {
  using Size = Count;
  using Displacement = Aint;
  using Bytes = Count;
#define TEMPI_SIGNED_LARGE(name, parameters) using name = int parameters;
#include "base/functions.def"
};

template <class T, class... Others>
constexpr bool is_one_of = (std::is_same_v<T, Others> || ...);

#if TEMPI_HAVE_MPI_Session_init
template <class T>
constexpr bool is_session = std::is_same_v<T, MPI_Session>;
#else
template <class T>
constexpr bool is_session = false;
#endif

// In an ABI with int handles this is true of every int.
template <class T>
constexpr bool is_handle = is_one_of<T, MPI_Comm, MPI_Datatype, MPI_Request, MPI_Message, MPI_Group, MPI_Info, MPI_Op,
                                     MPI_Errhandler, MPI_Win, MPI_File> ||
                           is_session<T>;

// const does not affect the calling convention, and old headers lack some.
template <class T>
using Target = std::remove_cv_t<std::remove_pointer_t<T>>;

// True if a row's parameter matches this one of mpi.h; void* matches any address.
template <class Ours, class Theirs>
constexpr bool fits() {
  if constexpr (std::is_same_v<Ours, Handle>) return is_handle<Theirs>;
  if constexpr (!std::is_pointer_v<Ours>) return std::is_same_v<Ours, Theirs>;
  if constexpr (std::is_void_v<Target<Ours>>) return std::is_pointer_v<Theirs>;
  return std::is_pointer_v<Theirs> && std::is_same_v<Target<Ours>, Target<Theirs>>;
}

template <class Ours, class Theirs>
constexpr bool agree = false;
template <class... Ours, class... Theirs>
constexpr bool agree<int(Ours...), int(Theirs...)> = [] {
  if constexpr (sizeof...(Ours) != sizeof...(Theirs)) return false;
  else return (fits<Ours, Theirs>() && ...);
}();

// True if a function can be passed on as words.
template <class Theirs>
constexpr bool takes_words = false;
template <class... Theirs>
constexpr bool takes_words<int(Theirs...)> =
    sizeof...(Theirs) <= kMostArguments &&
    ((sizeof(Theirs) <= sizeof(Word) && (std::is_integral_v<Theirs> || std::is_pointer_v<Theirs>)) && ...);

#define TEMPI_TEXT(name) #name ": base/functions.def has other parameters than mpi.h"
#define TEMPI_IF_1(name, ...) static_assert(__VA_ARGS__, TEMPI_TEXT(name));
#define TEMPI_IF_0(name, ...)
#define TEMPI_IF_(has, name, ...) TEMPI_IF_##has(name, __VA_ARGS__)
#define TEMPI_IF(has, name, ...) TEMPI_IF_(has, name, __VA_ARGS__)

#define TEMPI_SIGNED(name, parameters) TEMPI_IF(TEMPI_HAVE_##name, name, agree<Small::name, decltype(::name)>)
#define TEMPI_SIGNED_LARGE(name, parameters) TEMPI_IF(TEMPI_HAVE_##name, name, agree<Large::name, decltype(::name)>)
#define TEMPI_PASSED_ON(name) TEMPI_IF(TEMPI_HAVE_##name, name, takes_words<decltype(::name)>)
#include "base/functions.def"

}  // namespace
}  // namespace tempi::signatures
